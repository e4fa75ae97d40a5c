--[[
sweep: delete dead letters after their retention, and repair tasks that are incomplete, for example after an eviction.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks   hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs    hash  <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead    zset  <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  waits   string  <prefix>:delayed-task:{<partition>}:waits; only the name of the channel
ARGV[1]  retentionMs  int         how long a dead letter is kept, ms
ARGV[2]  leaseMs      int         new lease of a running task whose entry in `leased` is lost, ms
ARGV[3]  taskCursor   str         where the last call stopped in `tasks`; '0' to begin
ARGV[4]  runCursor    str         where the last call stopped in `runs`; '0' to begin
ARGV[5]  count        int 1..256  entries of `tasks` and of `runs` to look at, approximately; most dead letters to delete

Returns {expired, restored, dropped, taskCursor, runCursor}
  expired     int  dead letters that were deleted
  restored    int  tasks that were in none of the zsets, and are waiting, leased or dead-lettered again
  dropped     int  entries in `runs` that had no task, and were deleted with their leases
  taskCursor  str  argument of the next call; '0' after the last task
  runCursor   str  argument of the next call; '0' after the last run

O(count log n). TTL: none. Clock: Redis. Replay: sweeps again from the same cursors.
]]
-- @include clock
-- @include writes
-- @include run
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[2])
local tasks = redis.call('HSCAN', KEYS[3], ARGV[3], 'COUNT', ARGV[5])
local runs = redis.call('HSCAN', KEYS[4], ARGV[4], 'COUNT', ARGV[5])
local old = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now_ms - ARGV[1], 'LIMIT', 0, ARGV[5])
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
local restored, dropped = 0, 0
for i = 1, #tasks[2], 2 do
  local id = tasks[2][i]
  local placed = redis.call('ZSCORE', KEYS[1], id) or redis.call('ZSCORE', KEYS[2], id) or redis.call('ZSCORE', KEYS[5], id)
  if not placed then
    restored = restored + 1
    local run = parse_run(redis.call('HGET', KEYS[4], id))
    if run.state == 'l' then
      redis.call('ZADD', KEYS[2], now_ms + ARGV[2], id)
    elseif run.state == 'd' then
      redis.call('ZADD', KEYS[5], now_ms, id)
    else
      local first = tonumber(string.match(tasks[2][i + 1], '\n(%d+)$')) or now_ms
      redis.call('ZADD', KEYS[1], run.state == 'n' and first or run.due, id)
    end
  end
end
for i = 1, #runs[2], 2 do
  local id = runs[2][i]
  if redis.call('HEXISTS', KEYS[3], id) == 0 then
    dropped = dropped + 1
    redis.call('HDEL', KEYS[4], id)
    redis.call('ZREM', KEYS[2], id)
  end
end
for _, id in ipairs(old) do
  redis.call('ZREM', KEYS[5], id)
  redis.call('HDEL', KEYS[3], id)
  redis.call('HDEL', KEYS[4], id)
end
-- The restored tasks may be due at any time.
if restored > 0 then redis.pcall('SPUBLISH', KEYS[6], 'due') end
return { #old, restored, dropped, tasks[1], runs[1] }
