--[[
cancel: remove a waiting task, a task that is running, or a dead letter.

KEYS[1]  due        zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines      zset       <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads      hash       <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  leased     zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[5]  tasks      hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[6]  runs       hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[7]  dead       zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[8]  operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>   the reply of this call
KEYS[9]  waits      channel  <prefix>:delayed-task:{<partition>}:waits; the message 'cancelled <id>' aborts the signal of a running task
ARGV[1]  id           str
ARGV[2]  from         str   'all': a waiting task, or one whose lease has ended | 'running': also a running task | 'dead': dead letters only
ARGV[3]  operationMs  int   how long the reply is stored, so that a replay can return it, ms

Returns status
  status  'cancelled' | 'running' or 'dead': the task is in this state, and was not removed | 'unknown': no task has the id; with
          ARGV[2] 'dead', no dead letter has the id

O(log n). TTL: operationMs for the stored reply. Clock: Redis. Replay: returns the stored reply, and changes nothing.
]]
-- @include clock
-- @include writes
-- @include lines
local first = redis.call('GET', KEYS[8])
if first then return first == '1' and 'cancelled' or first end
local lease, dead = redis.call('ZSCORE', KEYS[4], ARGV[1]), redis.call('ZSCORE', KEYS[7], ARGV[1])
local record = redis.call('HGET', KEYS[5], ARGV[1])
local group = record and group_of(record)
redis.call('ZCARD', KEYS[1])
redis.call('HLEN', KEYS[6])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
local status = 'cancelled'
if not record or ARGV[2] == 'dead' and not dead then status = 'unknown'
elseif ARGV[2] ~= 'dead' and dead then status = 'dead'
elseif lease and tonumber(lease) > now_ms and ARGV[2] ~= 'running' then status = 'running' end
if status == 'cancelled' and not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
-- The reply is stored even if the task stays: a copy of this call that arrives late must not remove a task that was scheduled meanwhile.
redis.call('SET', KEYS[8], status == 'cancelled' and '1' or status, 'PX', ARGV[3])
if status ~= 'cancelled' then return status end
if group then
  leave(KEYS[1], KEYS[2], KEYS[3], group, ARGV[1], now_ms)
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[7], ARGV[1])
redis.call('HDEL', KEYS[5], ARGV[1])
redis.call('HDEL', KEYS[6], ARGV[1])
-- If publishing fails, for lack of a permission or of SPUBLISH, the worker notices the cancellation when it renews the lease.
if lease then redis.pcall('SPUBLISH', KEYS[9], 'cancelled ' .. ARGV[1]) end
return 'cancelled'
