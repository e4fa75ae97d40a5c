--[[
take: lease due tasks to a worker, first the tasks whose earlier lease has ended, up to 16 MiB of records. Tasks whose lease ended
in their last attempt are dead-lettered instead.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  waits   string  <prefix>:delayed-task:{<partition>}:waits
KEYS[7]  taken   string  <prefix>:delayed-task:{<partition>}:taken:<worker>   token and ids of the worker's last take
ARGV[1]  token    str         token of this take, which is stored with each lease
ARGV[2]  limit    int 1..256  most tasks
ARGV[3]  leaseMs  int         length of the leases, ms

Returns {now, nextAt, buried, id, record, attempt, runAtMs, ..., deadId, name, last, ...}
  now      int  Redis' time, ms
  nextAt   int  ms when the next task is due or the next lease ends; 0 if there is no task
  buried   int  number of tasks that were dead-lettered
  id       str  id of a task
  record   str  value in `tasks`
  attempt  int  number of this attempt, from 1
  runAtMs  int  ms when this attempt was due; after an ended lease, when the attempt of that lease was due
  deadId   str  id of a task that was dead-lettered
  name     str  name of that task
  last     int  number of its last attempt

O(limit log n). TTL: leaseMs for `taken`, a minute for `waits`. Clock: Redis. Replay: while `taken` is kept, the tasks
of the first call that are still leased with the token, and those that it dead-lettered.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include run
-- @include task-record
local LEASE_ENDED = 'the lease ended in the last attempt, for example because the worker died, stood still or could not reach Redis'
local NEVER = 9007199254740991
-- Most bytes of the records of one take. If the first record has more, its task is taken alone.
local MOST_BYTES = 16777216
local limit, reply, taken, leases, texts = tonumber(ARGV[2]), { now_ms, 0, 0 }, {}, {}, {}
local lost, buried, buried_rows = {}, {}, {}

-- Returns the ids of tasks whose lease has ended and then of due tasks; for each id its due time as text, or false if its lease
-- has ended; and the number of ended leases.
local function find_tasks()
  local ids, dues = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now_ms, 'LIMIT', 0, limit), {}
  local ended = #ids
  for i = 1, ended do dues[i] = false end
  local ready = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'WITHSCORES', 'LIMIT', 0, limit - ended)
  for i = 1, #ready, 2 do ids[#ids + 1], dues[#dues + 1] = ready[i], ready[i + 1] end
  return ids, dues, ended
end

-- Returns the records and runs of the tasks. Removes ids from the end until their records fit into one take.
local function read_tasks(ids)
  local records, size = redis.call('HMGET', KEYS[3], unpack(ids)), 0
  for i = 1, #ids do
    size = size + #(records[i] or '')
    if size > MOST_BYTES and i > 1 then ids[i] = nil end
  end
  return records, redis.call('HMGET', KEYS[4], unpack(ids))
end

local function add_task(id, record, attempt, runs_at)
  local n = #reply
  taken[#taken + 1] = id
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, record, attempt, runs_at
end

local function add_buried(id, record, attempt)
  local n = #buried_rows
  buried[#buried + 1] = id
  buried_rows[n + 1], buried_rows[n + 2], buried_rows[n + 3] = id, name_of(record), attempt
end

local function bury(id, record, run)
  add_buried(id, record, run.attempt)
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZADD', KEYS[5], now_ms, id)
  local failed = run.failed > 0 and run.failed or now_ms
  redis.call('HSET', KEYS[4], id, format_run(run.attempt, 'd', run.token, run.due, failed, 0, LEASE_ENDED))
end

-- Leases a task to the worker. Dead-letters it if its lease ended in the last attempt.
local function take_task(id, record, run, due)
  if not record then
    lost[#lost + 1] = id
    return
  end
  if not due and run.attempt >= attempts_of(record) then return bury(id, record, run) end
  local n = #leases
  -- A task that was handed back keeps its first due time.
  local runs_at = run.state ~= 'b' and tonumber(due) or run.due
  leases[n + 1], leases[n + 2], texts[n + 1] = now_ms + ARGV[3], id, id
  if run == NEW_RUN then
    -- The result of `format_run`, but faster.
    texts[n + 2] = '1 l ' .. ARGV[1] .. ' ' .. (due or string.format('%.0f', runs_at)) .. ' 0 0 '
  else
    texts[n + 2] = format_run(run.attempt + 1, 'l', ARGV[1], runs_at, run.failed, run.unknown, run.problem)
  end
  add_task(id, record, run.attempt + 1, runs_at)
end

local function repeat_task(id, record, run)
  if not record then return end
  if run.state == 'd' and run.problem == LEASE_ENDED then
    add_buried(id, record, run.attempt)
  elseif run.state == 'l' and run.token == ARGV[1] then
    add_task(id, record, run.attempt, run.due)
  end
end

local function write_take(due_count)
  if due_count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, due_count - 1) end
  if #lost > 0 then
    redis.call('ZREM', KEYS[2], unpack(lost))
    redis.call('HDEL', KEYS[4], unpack(lost))
  end
  if #taken > 0 then
    redis.call('ZADD', KEYS[2], unpack(leases))
    redis.call('HSET', KEYS[4], unpack(texts))
  end
  if #taken + #buried > 0 then
    local note = table.concat(taken, '\n') .. '\n' .. table.concat(buried, '\n')
    redis.call('SET', KEYS[7], ARGV[1] .. '\n' .. note, 'PX', ARGV[3])
  end
end

if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
local note = redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[5])
local is_replay = note and string.sub(note, 1, #ARGV[1] + 1) == ARGV[1] .. '\n'
local ids, dues, ended = find_tasks()
if is_replay then
  ids = {}
  for id in string.gmatch(string.sub(note, #ARGV[1] + 2), '[^\n]+') do ids[#ids + 1] = id end
end
if #ids > 0 then
  local records, runs = read_tasks(ids)
  for i, id in ipairs(ids) do
    local run = runs[i] and parse_run(runs[i]) or NEW_RUN
    if is_replay then repeat_task(id, records[i], run) else take_task(id, records[i], run, dues[i]) end
  end
end
if not is_replay then write_take(#ids - ended) end
local next_due = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local next_end = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
local next_at = math.min(tonumber(next_due) or NEVER, tonumber(next_end) or NEVER)
if #taken < limit then redis.call('SET', KEYS[6], next_at, 'PX', WAITS_MS) end
reply[2], reply[3] = next_at == NEVER and 0 or next_at, #buried
for _, field in ipairs(buried_rows) do reply[#reply + 1] = field end
return reply
