--[[
take: lease due tasks to a worker, up to 16 MiB of them, first the tasks whose earlier lease has ended. A task whose lease ended in its
last attempt is dead-lettered instead. Groups take turns: the worker gets one due task of each group, and further tasks of a group only if
it has fewer than `limit` tasks then. If a group is paused or has reached a limit, its tasks wait, and are looked at again later.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines   zset  <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads   hash  <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[5]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[6]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[7]  dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[8]  waits   string  <prefix>:delayed-task:{<partition>}:waits
KEYS[9]  taken   string  <prefix>:delayed-task:{<partition>}:taken:<worker>   token and tasks of the worker's last call, for a replay
KEYS[10] starts  string(int)  <prefix>:delayed-task:{<partition>}:starts   number of tasks that have started in the window of the rate limit
KEYS[11] pauses  hash  <prefix>:delayed-task:{<partition>}:pauses   paused groups
KEYS[12] places  zset  <prefix>:delayed-task:{<partition>}:places   '<group>\n<id>' of the running tasks of groups
KEYS[13] rates   zset  <prefix>:delayed-task:{<partition>}:rates    group -> ms when its rate is fully available again
ARGV[1]  token    str         identifies this call and the leases that it makes
ARGV[2]  limit    int 1..256  maximum number of tasks
ARGV[3]  leaseMs  int         length of the leases, ms
ARGV[4]  most     int         maximum number of tasks that all workers may start in a window; 0: any number
ARGV[5]  windowMs int         length of the window, which begins with its first task, ms; 0 without a limit
ARGV[6]  groupMost      int   maximum number of running tasks of a group; 0: any number
ARGV[7]  groupStarts    int   number of tasks of a group that may start at once, and later in each groupWindowMs; 0: any number
ARGV[8]  groupWindowMs  int   ms; 0 without groupStarts
ARGV[9..] ended  list(str)    members of `places` whose tasks have ended, at most 256, so that other tasks of their groups may start

Returns {now, nextAt, buried, id, record, attempt, runAtMs, ..., deadId, name, last, group, ...}
  now      int  Redis' time, ms
  nextAt   int  ms when the next task is due or the next lease ends; 1 if a task follows an attempt that has ended (see next.lua), because
                a lease that ends at 0 stands for it; 0 if there is no task
  buried   int  number of tasks that were dead-lettered
  id       str  id of a task
  record   str  value in `tasks`
  attempt  int  number of this attempt, from 1
  runAtMs  int  ms when this attempt was due; after an ended lease, when the attempt of that lease was due
  deadId   str  id of a task that was dead-lettered
  name     str  name of that task
  last     int  number of its last attempt
  group    str  its group; '' without one

O(limit log n + limit groupMost). TTL: leaseMs for `taken`, a minute for `waits`, windowMs for `starts`, twice groupWindowMs for
`rates`. Clock: Redis. Replay: while `taken` is kept, returns the tasks of the first call that are still leased by it, and those
that it dead-lettered.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include lines
-- @include limits
-- @include turns
-- @include starts
-- @include bury
-- @include records
local NEVER = 9007199254740991
-- Formatted once here, because Redis would format a number again for each task.
local lease_end = string.format('%.0f', now_ms + ARGV[3])
local limit, reply, taken, leases, texts = tonumber(ARGV[2]), { now_ms, 0, 0 }, {}, {}, {}
-- `lost`: ids of tasks that are gone, or are followed by a task with the same id. `nexts`: id and record of each task that follows.
local lost, nexts = {}, {}
-- `turns`: groups from which this call took a task, and its id. `most`: see ARGV[4]. `starts`: number of starts of this call, no schedules.
local turns, most, starts = {}, tonumber(ARGV[4]), 0
local limits = limits_of(KEYS[11], KEYS[12], KEYS[13], KEYS[4], ARGV[6], ARGV[7], ARGV[8])

-- Returns the ids of tasks to take: first those whose lease has ended, then the due ones. Also returns the due time of each as text, or
-- false if its lease has ended, and the number of ended leases.
local function find_tasks()
  local ids, dues = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now_ms, 'LIMIT', 0, limit), {}
  local ended = #ids
  for i = 1, ended do dues[i] = false end
  local ready = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'WITHSCORES', 'LIMIT', 0, limit - ended)
  for i = 1, #ready, 2 do ids[#ids + 1], dues[#dues + 1] = ready[i], ready[i + 1] end
  return ids, dues, ended
end

local function add_task(id, record, attempt, runs_at)
  local n = #reply
  taken[#taken + 1] = id
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, record, attempt, runs_at
end

-- Leases a task to the worker. Dead-letters it if its lease ended in the last attempt.
local function take_task(id, record, run, due)
  if not record or not due and (run.state == 'a' or run.state == 'e') then
    lost[#lost + 1] = id
    if record then nexts[#nexts + 1], nexts[#nexts + 2] = id, record end
    return
  end
  if not due and run.attempt >= attempts_of(record) then return bury(KEYS[4], KEYS[6], KEYS[7], id, record, run) end
  -- A task that is due cannot be leased or dead-lettered, so the run is that of an earlier task with the same id.
  if due and (run.state == 'd' or run.state == 'l') then run = NEW_RUN end
  local n = #leases
  -- A record without an '@' has no group. This plain search is faster than the pattern in `group_of`.
  local group = string.find(record, '@', 1, true) and group_of(record)
  if group and due then
    -- For a task of a group, `due` has the time when its turn came, so the time when it was due is read from its record.
    due = run == NEW_RUN and string.match(record, '%d+$') or string.format('%.0f', run.due)
    if not may_start(limits, group, due, id) then return end
    turns[#turns + 1], turns[#turns + 2] = group, id
  end
  if group then count_start(limits, group, id, not due) end
  -- A task that a worker gave back keeps the time when it was due first.
  local runs_at = run.state ~= 'b' and tonumber(due) or run.due
  leases[n + 1], leases[n + 2], texts[n + 1] = lease_end, id, id
  if run == NEW_RUN then
    -- A fast copy of `format_run` for the first attempt of a task.
    texts[n + 2] = '1 l ' .. ARGV[1] .. ' ' .. (due or string.format('%.0f', runs_at)) .. ' 0 0 '
  else
    texts[n + 2] = format_run(run.attempt + 1, 'l', ARGV[1], runs_at, run.failed, run.unknown, run.problem)
  end
  if most > 0 and string.byte(id) > 1 then starts = starts + 1 end
  add_task(id, record, run.attempt + 1, runs_at)
end

local function repeat_task(id, record, run)
  if not record then return end
  if run.state == 'd' and run.problem == LEASE_ENDED then
    add_buried(id, record, run.attempt)
  elseif run.state == 'l' and run.token == ARGV[1] then
    -- A task in state 'a' is not returned: its record is already that of the next task, which runs when this lease has ended.
    add_task(id, record, run.attempt, run.due)
  end
end

local function take_ids(ids, dues)
  if size >= MOST_BYTES then return 0 end
  local records, runs = read_tasks(KEYS[5], KEYS[6], ids)
  for i, id in ipairs(ids) do take_task(id, records[i], runs[i] and parse_run(runs[i]) or NEW_RUN, dues[i]) end
  return #ids
end

local function write_take(due_count, most_due)
  if due_count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, due_count - 1) end
  put_back(limits, KEYS[1], KEYS[2], KEYS[3])
  -- A group gets more than one task only if no other task is due.
  local left = due_count < most_due and limit - #taken or 0
  if #turns > 0 then take_in_turns(KEYS[1], KEYS[2], KEYS[3], limits, turns, left, take_ids) end
  if #lost > 0 then
    redis.call('ZREM', KEYS[4], unpack(lost))
    redis.call('HDEL', KEYS[6], unpack(lost))
  end
  place_new(KEYS[1], KEYS[2], KEYS[3], nexts)
  if #taken > 0 then
    redis.call('ZADD', KEYS[4], unpack(leases))
    redis.call('HSET', KEYS[6], unpack(texts))
  end
  write_starts(limits)
  hold_groups(limits, KEYS[1], KEYS[3])
  if #taken + #buried > 0 then
    redis.call('SET', KEYS[9], table.concat({ ARGV[1], table.concat(taken, '\n'), table.concat(buried, '\n') }, '\n'), 'PX', ARGV[3])
  end
end

if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
local free, started, window_ms = starts_of(KEYS[10], most, tonumber(ARGV[5]))
limit = math.min(limit, free)
local note = redis.call('GET', KEYS[9])
redis.call('ZCARD', KEYS[7])
local is_replay = note and string.sub(note, 1, #ARGV[1] + 1) == ARGV[1] .. '\n'
if limits.concurrency + limits.starts > 0 then check_groups(limits, KEYS[2], KEYS[3]) end
if #ARGV > 8 then free_places(limits, KEYS[1], KEYS[3], { unpack(ARGV, 9) }) end
local ids, dues, ended = find_tasks()
if is_replay then
  ids = {}
  for id in string.gmatch(string.sub(note, #ARGV[1] + 2), '[^\n]+') do ids[#ids + 1] = id end
end
if #ids > 0 then
  local records, runs = read_tasks(KEYS[5], KEYS[6], ids)
  if ended > 0 then check_groups(limits, KEYS[2], KEYS[3]) end
  for i, id in ipairs(ids) do
    local run = runs[i] and parse_run(runs[i]) or NEW_RUN
    if is_replay then repeat_task(id, records[i], run) else take_task(id, records[i], run, dues[i]) end
  end
end
if #limits.names + #turns > 0 then check_groups(limits, KEYS[2], KEYS[3]) end
if not is_replay then write_take(#ids - ended, limit - ended) end
if starts > 0 and not is_replay then redis.call('SET', KEYS[10], started + starts, 'PX', window_ms) end
local next_due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', IN_LINE), 'WITHSCORES', 'LIMIT', 0, 1)[2]
local next_end = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]
local next_at = math.max(1, math.min(tonumber(next_due) or NEVER, tonumber(next_end) or NEVER))
if most > 0 and started >= most and next_at < NEVER then next_at = math.max(next_at, now_ms + window_ms) end
if #taken < tonumber(ARGV[2]) then redis.call('SET', KEYS[8], next_at, 'PX', WAITS_MS) end
reply[2], reply[3] = next_at == NEVER and 0 or next_at, #buried
for _, field in ipairs(buried_rows) do reply[#reply + 1] = field end
return reply
