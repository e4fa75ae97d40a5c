--[[
sweep: delete dead letters after their retention, and repair tasks that Redis has partly lost, for example by an eviction.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines   zset  <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads   hash  <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[5]  tasks   hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[6]  runs    hash  <prefix>:delayed-task:{<partition>}:runs
KEYS[7]  dead    zset  <prefix>:delayed-task:{<partition>}:dead
KEYS[8]  waits   string  <prefix>:delayed-task:{<partition>}:waits; only the name of the channel
ARGV[1]  retentionMs  int         how long a dead letter is kept, ms
ARGV[2]  leaseMs      int         new lease of a running task whose entry in `leased` is lost, ms
ARGV[3]  taskCursor   str         where the last call stopped in `tasks`; '0' for the first call
ARGV[4]  runCursor    str         where the last call stopped in `runs`; '0' for the first call
ARGV[5]  count        int 1..256  entries of `tasks` and of `runs` to read, approximately; maximum number of dead letters to delete

Returns {expired, restored, dropped, taskCursor, runCursor}
  expired     int  number of dead letters that were deleted
  restored    int  number of tasks that were missing in all of `due`, `leased` and `dead`, and were added again; plus the groups that
                   had lost their next task, and got a new one
  dropped     int  number of entries in `runs` that had no task, and were deleted with their leases
  taskCursor  str  argument of the next call; '0' after the last task
  runCursor   str  argument of the next call; '0' after the last run

O(count log n). TTL: none. Clock: Redis. Replay: sweeps again from the same cursors.
]]
-- @include clock
-- @include writes
-- @include run
-- @include lines
local restored, dropped = 0, 0

-- Gives a group a new next task (head) if it has lost its head. Without a head, no task of the group would start any more.
local function repair_line(id, group, ms)
  redis.call('ZADD', KEYS[2], 0, line_member(group, ms, id))
  local head = redis.call('HGET', KEYS[3], group)
  if head and tonumber(redis.call('ZSCORE', KEYS[1], head) or IN_LINE) < IN_LINE then return end
  restored = restored + 1
  advance(KEYS[1], KEYS[2], KEYS[3], group, now_ms)
end

local function repair(id, record)
  local placed = redis.call('ZSCORE', KEYS[1], id) or redis.call('ZSCORE', KEYS[4], id) or redis.call('ZSCORE', KEYS[7], id)
  if placed then
    if tonumber(placed) >= IN_LINE then repair_line(id, group_of(record) or '', placed - IN_LINE) end
    return
  end
  restored = restored + 1
  local run = parse_run(redis.call('HGET', KEYS[6], id))
  if run.state == 'l' or run.state == 'a' or run.state == 'e' then
    redis.call('ZADD', KEYS[4], now_ms + ARGV[2], id)
  elseif run.state == 'd' then
    redis.call('ZADD', KEYS[7], now_ms, id)
  else
    local first = tonumber(string.match(record, '\n(%d+)$')) or now_ms
    redis.call('ZADD', KEYS[1], run.state == 'n' and first or run.due, id)
  end
end

redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[4])
local tasks = redis.call('HSCAN', KEYS[5], ARGV[3], 'COUNT', ARGV[5])
if tasks[2][1] then
  redis.call('ZCARD', KEYS[2])
  redis.call('HLEN', KEYS[3])
end
local runs = redis.call('HSCAN', KEYS[6], ARGV[4], 'COUNT', ARGV[5])
local old = redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now_ms - ARGV[1], 'LIMIT', 0, ARGV[5])
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
for i = 1, #tasks[2], 2 do repair(tasks[2][i], tasks[2][i + 1]) end
for i = 1, #runs[2], 2 do
  local id = runs[2][i]
  if redis.call('HEXISTS', KEYS[5], id) == 0 then
    dropped = dropped + 1
    redis.call('HDEL', KEYS[6], id)
    redis.call('ZREM', KEYS[4], id)
  end
end
for _, id in ipairs(old) do
  redis.call('ZREM', KEYS[7], id)
  redis.call('HDEL', KEYS[5], id)
  redis.call('HDEL', KEYS[6], id)
end
-- A repaired task may be due earlier than the time until which the workers sleep.
if restored > 0 then redis.pcall('SPUBLISH', KEYS[8], 'due') end
return { #old, restored, dropped, tasks[1], runs[1] }
