--[[
list: read a page of the tasks of a partition that are in one state, by their time.

KEYS[1]  place  zset  <prefix>:delayed-task:{<partition>}:due, leased or dead
KEYS[2]  tasks  hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[3]  runs   hash  <prefix>:delayed-task:{<partition>}:runs
ARGV[1]  untilMs  int         tasks with a later time than this one are left out, ms; at most Redis' time; -1: no limit
ARGV[2]  afterMs  int         time of the task that the last call read last, ms; 0 for the first call
ARGV[3]  afterId  str         id of that task, which may be gone by now; '' for the first call
ARGV[4]  limit    int 1..256  maximum number of tasks

Returns {untilMs, id, atMs, record, run, ...}
  untilMs  int  argument of the next call, so that tasks which are dead-lettered meanwhile are left out, and the pages end
  id       str  id of the task
  atMs     str  when the task is due, when its lease ends, or when it was dead-lettered, ms; 2^52 more if it waits for its group's turn
  record   str  value in `tasks`; '' if Redis has lost it
  run      str  value in `runs`; '' if Redis has lost it

O(log² n + limit). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include dead-ranks
local till = tonumber(ARGV[1])
if till >= 0 then till = math.min(now_ms, till) end
local before = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[2])
local same = redis.call('ZCOUNT', KEYS[1], ARGV[2], ARGV[2])
local from = rank_after(before, before + same, ARGV[3], function(rank)
  return redis.call('ZRANGE', KEYS[1], rank, rank)[1]
end)
local to = math.min(from + ARGV[4], redis.call('ZCOUNT', KEYS[1], '-inf', till < 0 and '+inf' or till))
if from >= to then return { till } end
local rows = redis.call('ZRANGE', KEYS[1], from, to - 1, 'WITHSCORES')
local ids, reply = {}, { till }
for i = 1, #rows, 2 do ids[#ids + 1] = rows[i] end
local records, runs = redis.call('HMGET', KEYS[2], unpack(ids)), redis.call('HMGET', KEYS[3], unpack(ids))
for i, id in ipairs(ids) do
  reply[4 * i - 2], reply[4 * i - 1], reply[4 * i], reply[4 * i + 1] = id, rows[2 * i], records[i] or '', runs[i] or ''
end
return reply
