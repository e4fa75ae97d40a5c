--[[
dead-letters: read a page of the dead letters of a partition, the oldest first.

KEYS[1]  dead   zset  <prefix>:delayed-task:{<partition>}:dead
KEYS[2]  tasks  hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[3]  runs   hash  <prefix>:delayed-task:{<partition>}:runs
ARGV[1]  untilMs  int         ms of the last dead letter to read; a later time than Redis' counts as Redis' time
ARGV[2]  afterMs  int         ms of the last dead letter that was read before; 0 to begin
ARGV[3]  afterId  str         id of that dead letter, which may be gone by now; '' to begin
ARGV[4]  limit    int 1..256  most dead letters

Returns {untilMs, id, deadAtMs, record, run, ...}
  untilMs   int  argument of the next call. It leaves out tasks that are dead-lettered later, so that the pages end
  id        str  id of the task
  deadAtMs  str  when the task was dead-lettered, ms
  record    str  value in `tasks`; '' if it is lost
  run       str  value in `runs`; '' if it is lost

O(log² n + limit). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include dead-ranks
local till = math.min(now_ms, tonumber(ARGV[1]))
local before = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[2])
local same = redis.call('ZCOUNT', KEYS[1], ARGV[2], ARGV[2])
local from = rank_after(before, before + same, ARGV[3], function(rank)
  return redis.call('ZRANGE', KEYS[1], rank, rank)[1]
end)
local to = math.min(from + ARGV[4], redis.call('ZCOUNT', KEYS[1], '-inf', till))
if from >= to then return { till } end
local rows = redis.call('ZRANGE', KEYS[1], from, to - 1, 'WITHSCORES')
local ids, reply = {}, { till }
for i = 1, #rows, 2 do ids[#ids + 1] = rows[i] end
local records, runs = redis.call('HMGET', KEYS[2], unpack(ids)), redis.call('HMGET', KEYS[3], unpack(ids))
for i, id in ipairs(ids) do
  reply[4 * i - 2], reply[4 * i - 1], reply[4 * i], reply[4 * i + 1] = id, rows[2 * i], records[i] or '', runs[i] or ''
end
return reply
