--[[
list-woken: list the activities that were woken after those that an earlier call has listed.

KEYS[1]  woken  zset  <prefix>:red-packet:{activities}:woken   activity id -> score, about the ms at which it was woken
ARGV[1]  after  int   highest score that an earlier call has listed
ARGV[2]  count  int   most activities to list

Returns {lost, last, activityId, ...}
  lost        1 | 0   1: Redis knows no score as high as `after`, so it may have lost ids; then none is listed
  last        str     highest score of the ids listed; without ids, highest score that Redis knows; '0' if it knows none
  activityId  str     lowest score first

O(log n + count). TTL: untouched. Clock: none. Replay: reads again.
]]
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or '0'
if last == ARGV[1] then return { 0, last } end
if tonumber(last) < tonumber(ARGV[1]) then return { 1, last } end
local rows = redis.call('ZRANGE', KEYS[1], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local reply = { 0, rows[#rows] }
for i = 1, #rows, 2 do reply[#reply + 1] = rows[i] end
return reply
