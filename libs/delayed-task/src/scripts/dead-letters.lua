--[[
dead-letters: a page of the dead tasks of a partition, the oldest first.

KEYS[1]  dead   zset  <prefix>:delayed-task:{<partition>}:dead
KEYS[2]  tasks  hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[3]  runs   hash  <prefix>:delayed-task:{<partition>}:runs
ARGV[1]  sinceMs  int         ms of the first death
ARGV[2]  skip     int         how many of that ms were read before
ARGV[3]  limit    int 1..256  most tasks

Returns {found, id, deadAt, record, run, ...}
  found   int  how many there are from here on, up to the limit
  id      str
  deadAt  str  ms
  record  str
  run     str

O(log n + limit). TTL: untouched. Clock: none. Replay: reads again.
]]
local rows = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', ARGV[2], ARGV[3])
local reply = { #rows / 2 }
if #rows == 0 then return reply end
local ids = {}
for i = 1, #rows, 2 do ids[#ids + 1] = rows[i] end
local records, runs = redis.call('HMGET', KEYS[2], unpack(ids)), redis.call('HMGET', KEYS[3], unpack(ids))
for i, id in ipairs(ids) do
  reply[4 * i - 2], reply[4 * i - 1], reply[4 * i], reply[4 * i + 1] = id, rows[2 * i], records[i] or '', runs[i] or ''
end
return reply
