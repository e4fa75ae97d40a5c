--[[
complete: remove one task that is done, and keep its result. If `schedule` has stored a task that follows under the
same id, only the attempt ends, and that task stays.

KEYS[1]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[2]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[3]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[4]  waits   channel  <prefix>:delayed-task:{<partition>}:waits
KEYS[5]  result  string  <prefix>:delayed-task:{<partition>}:result:<id>   '<token> <ms> <JSON>'
ARGV[1]  id      str
ARGV[2]  token   str  identifies the lease
ARGV[3]  keepMs  int >= 1  how long the result is kept, ms
ARGV[4]  result  str       JSON, or '!' and the reason why there is no result; '' for no result

Returns done
  done  1 | 0   0: the task is no longer leased to the worker, so nothing was changed

O(log n). TTL: keepMs for the result. Clock: Redis. Replay: changes nothing; returns 1 again while the result is kept and no new
task has the id.
]]
-- @include clock
-- @include writes
-- @include next
local run = redis.call('HGET', KEYS[3], ARGV[1])
local kept = redis.call('GET', KEYS[5])
local ends = run and has_next(run, ARGV[2])
if not ends and not (run and string.find(run, ' l ' .. ARGV[2] .. ' ', 1, true)) then
  return not run and kept and string.sub(kept, 1, #ARGV[2] + 1) == ARGV[2] .. ' ' and 1 or 0
end
redis.call('HLEN', KEYS[2])
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if ends then
  redis.call('ZADD', KEYS[1], '0', ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], end_before_next(run))
  redis.pcall('SPUBLISH', KEYS[4], 'due')
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
end
redis.call('SET', KEYS[5], ARGV[2] .. string.format(' %.0f ', now_ms) .. ARGV[4], 'PX', ARGV[3])
return 1
