--[[
group-pause: pause a group of tasks, or resume it. `take` starts no task of a paused group.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  heads   hash    <prefix>:delayed-task:{<partition>}:heads
KEYS[3]  pauses  hash    <prefix>:delayed-task:{<partition>}:pauses   paused groups
KEYS[4]  waits   string  <prefix>:delayed-task:{<partition>}:waits
ARGV[1]  group   str
ARGV[2]  action  str     'pause' | 'resume'

Returns paused
  paused  1 | 0

O(log n). TTL: none, so that a group stays paused until somebody resumes it. Clock: Redis. Replay: sets the same state again.
]]
-- @include clock
-- @include in-line
-- @include writes
-- @include wake
local head = redis.call('HGET', KEYS[2], ARGV[1])
local at = redis.call('ZSCORE', KEYS[1], head or '')
local mark = redis.call('GET', KEYS[4])
redis.call('HLEN', KEYS[3])
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if ARGV[2] == 'pause' then
  -- `take` notices the pause when the next task of the group is due, and sets this task aside. So nothing else is written here.
  redis.call('HSET', KEYS[3], ARGV[1], '1')
  return 1
end
if is_mute(KEYS[4]) then return redis.error_reply(MUTE) end
redis.call('HDEL', KEYS[3], ARGV[1])
if tonumber(at or 0) ~= PAUSED then return 0 end
-- `take` had set this task aside when it was due, so it is due now.
redis.call('ZADD', KEYS[1], now_ms, head)
if must_wake(mark, now_ms) then
  redis.call('SET', KEYS[4], string.format('%.0f', now_ms), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[4], 'due')
end
return 0
