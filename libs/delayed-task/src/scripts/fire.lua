--[[
fire: create the task of a schedule that this worker has taken, and make the schedule due again at its next slot.
A slot is one of the times at which a schedule creates a task.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines   zset    <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads   hash    <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[5]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[6]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[7]  waits   string  <prefix>:delayed-task:{<partition>}:waits
ARGV[1]  id      str     id of the schedule
ARGV[2]  token   str  identifies the lease
ARGV[3]  taskId  str     id of the task to create. An existing task with this id stays
ARGV[4]  record  str     name, settings and payload of the task as one text
ARGV[5]  slotMs  int     when the task is due, ms
ARGV[6]  nextMs  int     the next slot of the schedule, ms

Returns status
  status  'fired' | 'lost'   lost: the schedule is no longer leased to the worker, so nothing was changed

O(log n). TTL: none. Clock: Redis. Replay: returns 'fired' again, until another call takes, replaces or removes the schedule.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include run
-- @include lines
local run = parse_run(redis.call('HGET', KEYS[6], ARGV[1]))
local known = redis.call('HEXISTS', KEYS[5], ARGV[3])
local mark = redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[4])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
if run.token ~= ARGV[2] then return 'lost' end
if run.state == 'w' then return 'fired' end
if run.state ~= 'l' then return 'lost' end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
local slot, group = tonumber(ARGV[5]), group_of(ARGV[4])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[6], ARGV[1])
redis.call('HSET', KEYS[6], ARGV[1], format_run(0, 'w', ARGV[2], tonumber(ARGV[6]), 0, 0, ''))
if known == 0 then
  redis.call('HSET', KEYS[5], ARGV[3], ARGV[4] .. '\n' .. ARGV[5])
  if group then
    place(KEYS[1], KEYS[2], KEYS[3], group, slot, ARGV[3])
  else
    redis.call('ZADD', KEYS[1], ARGV[5], ARGV[3])
  end
end
if must_wake(mark, slot) then
  redis.call('SET', KEYS[7], ARGV[5], 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[7], 'due')
end
return 'fired'
