--[[
page-activities: list a page of the activities that Redis has not forgotten, those with the latest end of their retention first.

KEYS[1]  activities  zset  <prefix>:red-packet:{activities}:activities   activity id -> a time after the end of its retention, ms
KEYS[2]  settled     zset  <prefix>:red-packet:{activities}:settled      activity id -> time at which it leaves the list, ms
ARGV[1]  beforeMs    int   time of the last activity of the page before, ms; 0 for the first page
ARGV[2]  beforeId    str   id of that activity; '' for the first page
ARGV[3]  limit       int   most activities of the page, 1 or more

Returns {total, rows}
  total  int   number of all activities
  rows   flat  two values per activity: its id (str), its time in KEYS[1] (digits, ms)

O(log n + limit). TTL: untouched. Clock: Redis. Replay: reads again. If the last activity of the page before has left the list or has
another time, the page may repeat activities with the same time as it had.
]]
-- @include activity-list
prune_list()
local from = 0
if ARGV[1] ~= '0' then
  from = redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[1], '+inf')
  local kept = redis.call('ZSCORE', KEYS[1], ARGV[2])
  if kept and tonumber(kept) == tonumber(ARGV[1]) then from = redis.call('ZREVRANK', KEYS[1], ARGV[2]) + 1 end
end
local rows = redis.call('ZRANGE', KEYS[1], from, from + ARGV[3] - 1, 'REV', 'WITHSCORES')
table.insert(rows, 1, redis.call('ZCARD', KEYS[1]))
return rows
