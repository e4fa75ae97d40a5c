--[[
fail: store the result of an attempt that did not succeed. The task becomes due again after a delay, or is dead-lettered.
If `schedule` has stored a task that follows under the same id, that task becomes due instead.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  waits   string  <prefix>:delayed-task:{<partition>}:waits
ARGV[1]  id       str
ARGV[2]  token    str  identifies the lease
ARGV[3]  delayMs  int >= 0  time until the next attempt, ms
ARGV[4]  verdict  str       'retry': the attempt counts, and the task is dead-lettered after the last attempt |
                            'postpone': the attempt does not count | 'dead-letter': the task is dead-lettered
ARGV[5]  error    str       stored with the task, unless the verdict is 'postpone'

Returns status
  status  'retried' | 'dead' | 'lost'   lost: the task is no longer leased to the worker, so nothing was changed; also if another
                                        worker dead-lettered it, because its lease had ended

O(log n). TTL: none; the script sweep deletes old dead letters. Clock: Redis. Replay: returns the first reply, until another call
takes or changes the task.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include run
-- @include next
-- @include task-record
local text, record = redis.call('HGET', KEYS[4], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1])
local run = parse_run(text)
local mark = redis.call('GET', KEYS[6])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[5])
if not record or run.token ~= ARGV[2] then return 'lost' end
if run.state == 'r' or run.state == 'w' then return 'retried' end
-- In a replay, the token alone does not show that the first call has dead-lettered the task, so the error is compared, too.
if run.state == 'd' and run.problem == ARGV[5] then return 'dead' end
local ends = has_next(text, ARGV[2])
if run.state ~= 'l' and not ends then return 'lost' end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if ends then
  redis.call('ZADD', KEYS[2], '0', ARGV[1])
  redis.call('HSET', KEYS[4], ARGV[1], end_before_next(text))
  redis.pcall('SPUBLISH', KEYS[6], 'due')
  return 'retried'
end
local due = now_ms + ARGV[3]
local dead = ARGV[4] == 'dead-letter' or ARGV[4] == 'retry' and run.attempt >= attempts_of(record)
if ARGV[4] == 'postpone' then
  run.attempt = run.attempt - 1
else
  run.failed, run.problem = run.failed > 0 and run.failed or now_ms, ARGV[5]
end
text = format_run(run.attempt, dead and 'd' or 'r', ARGV[2], dead and run.due or due, run.failed, 0, run.problem)
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], text)
if dead then
  redis.call('ZADD', KEYS[5], now_ms, ARGV[1])
  return 'dead'
end
redis.call('ZADD', KEYS[1], due, ARGV[1])
if must_wake(mark, due) then
  redis.call('SET', KEYS[6], string.format('%.0f', due), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[6], 'due')
end
return 'retried'
