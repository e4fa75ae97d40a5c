--[[
reschedule: change the due time of a waiting task, or make a dead letter due again.

KEYS[1]  due        zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines      zset    <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads      hash    <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  leased     zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[5]  tasks      hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[6]  runs       hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[7]  dead       zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[8]  waits      string  <prefix>:delayed-task:{<partition>}:waits
KEYS[9]  operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>   the reply of this call
ARGV[1]  id           str
ARGV[2]  when         str   'd<ms>' for a delay, 'a<ms>' for a time since 1970
ARGV[3]  from         str   'due': a waiting task | 'dead': a dead letter, which starts again at attempt 1
ARGV[4]  operationMs  int   how long the reply is stored, so that a replay can return it, ms

Returns {runAtMs, status}
  runAtMs  int  new due time, ms; 0 unless the status is 'moved'
  status   'moved' | 'running': a worker has the task, or had it until its lease ended; nothing was changed | 'dead': the task is a
           dead letter; nothing was changed | 'unknown': no task has the id; with ARGV[3] 'dead', no dead letter has the id

O(log n). TTL: operationMs for the stored reply. Clock: Redis. Replay: returns the stored reply, and changes nothing.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include due
-- @include run
-- @include lines
local first = redis.call('GET', KEYS[9])
if first and tonumber(first) then return { tonumber(first), 'moved' } end
if first then return { 0, first } end
local due = parse_due(ARGV[2], now_ms)
if not due then return redis.error_reply('BADTIME the due time in ARGV[2] is neither "d<ms>" nor "a<ms>"; nothing was changed') end
local record, dead = redis.call('HGET', KEYS[5], ARGV[1]), redis.call('ZSCORE', KEYS[7], ARGV[1])
local waiting, lease = redis.call('ZSCORE', KEYS[1], ARGV[1]), redis.call('ZSCORE', KEYS[4], ARGV[1])
local mark = redis.call('GET', KEYS[8])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
local text = redis.call('HGET', KEYS[6], ARGV[1])
local stays
if not record then stays = 'unknown'
elseif lease then stays = 'running'
elseif ARGV[3] == 'due' and not waiting then stays = dead and 'dead' or 'unknown'
elseif ARGV[3] == 'dead' and not dead then stays = 'unknown' end
if stays then
  -- The reply is stored even if the task stays: a copy of this call that arrives late must not move a task that was scheduled meanwhile.
  redis.call('SET', KEYS[9], stays, 'PX', ARGV[4])
  return { 0, stays }
end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if must_wake(mark, due) and is_mute(KEYS[8]) then return redis.error_reply(MUTE) end
redis.call('SET', KEYS[9], string.format('%.0f', due), 'PX', ARGV[4])
redis.call('ZREM', KEYS[7], ARGV[1])
local run = dead and NEW_RUN or parse_run(text)
redis.call('HSET', KEYS[6], ARGV[1], format_run(run.attempt, 'w', run.token, due, run.failed, run.unknown, run.problem))
local group = group_of(record)
if group then
  leave(KEYS[1], KEYS[2], KEYS[3], group, ARGV[1], now_ms)
  place(KEYS[1], KEYS[2], KEYS[3], group, due, ARGV[1])
else
  redis.call('ZADD', KEYS[1], due, ARGV[1])
end
if must_wake(mark, due) then
  redis.call('SET', KEYS[8], string.format('%.0f', due), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[8], 'due')
end
return { due, 'moved' }
