--[[
cancel: remove a waiting task, a task that is running, or a dead letter.

KEYS[1]  due        zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased     zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks      hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs       hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead       zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>
KEYS[7]  waits      channel  <prefix>:delayed-task:{<partition>}:waits; the message 'cancelled <id>' fires the signal of a running task
ARGV[1]  id           str
ARGV[2]  from         str   'all': waiting, or the lease has ended | 'running': also leased | 'dead': dead letters only
ARGV[3]  operationMs  int   how long the reply is kept for a replay, ms

Returns status
  status  'cancelled' | 'running' and 'dead': the task is in this state and stays | 'unknown': there is no such task; with
          ARGV[2] 'dead', no such dead letter

O(log n). TTL: the operation's. Clock: Redis. Replay: returns cancelled again while the operation is kept.
]]
-- @include clock
-- @include writes
if redis.call('GET', KEYS[6]) then return 'cancelled' end
local lease, dead = redis.call('ZSCORE', KEYS[2], ARGV[1]), redis.call('ZSCORE', KEYS[5], ARGV[1])
local record = redis.call('HEXISTS', KEYS[3], ARGV[1])
redis.call('ZCARD', KEYS[1])
redis.call('HLEN', KEYS[4])
if record == 0 then return 'unknown' end
if ARGV[2] == 'dead' and not dead then return 'unknown' end
if ARGV[2] ~= 'dead' and dead then return 'dead' end
if lease and tonumber(lease) > now_ms and ARGV[2] ~= 'running' then return 'running' end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
redis.call('SET', KEYS[6], '1', 'PX', ARGV[3])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
-- Without permission, or on a server without SPUBLISH, the worker finds out when it renews the lease.
if lease then redis.pcall('SPUBLISH', KEYS[7], 'cancelled ' .. ARGV[1]) end
return 'cancelled'
