--[[
schedule: add tasks to a partition. Wakes the workers if a task is due before the time until which they sleep.

KEYS[1]    due        zset    <prefix>:delayed-task:{<partition>}:due      id -> ms when it is due
KEYS[2]    lines      zset    <prefix>:delayed-task:{<partition>}:lines    tasks that wait for other tasks of their group
KEYS[3]    heads      hash    <prefix>:delayed-task:{<partition>}:heads    group -> id of its next task
KEYS[4]    leased     zset    <prefix>:delayed-task:{<partition>}:leased   id -> ms when its lease ends
KEYS[5]    tasks      hash    <prefix>:delayed-task:{<partition>}:tasks    id -> record: name, settings, payload and due time as one text
KEYS[6]    runs       hash    <prefix>:delayed-task:{<partition>}:runs     id -> data of its attempts, such as the token of the lease
KEYS[7]    dead       zset    <prefix>:delayed-task:{<partition>}:dead     id -> ms when it was dead-lettered
KEYS[8]    waits      string  <prefix>:delayed-task:{<partition>}:waits    latest time at which workers wake up, ms; also their channel
KEYS[9]    operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>   the reply of this call
ARGV[1]    conflict     str        'keep' | 'replace' | 'after', for ids that exist
ARGV[2]    operationMs  int        how long the reply is stored, so that a replay can return it, ms
ARGV[3..]  tasks        list(str)  id, 'd<ms>' for a delay or 'a<ms>' for a time since 1970, record; 1 to 300 tasks

Returns {code, runAtMs, ...}
  code   0: the task follows when the running task of the same id has ended | 1: scheduled | 2: replaced the existing task |
         3: the existing task was kept
  runAtMs  int   when the task is due, ms; 0 for a kept task that is not waiting

O(n log m). TTL: none for tasks; operationMs for the stored reply. Clock: Redis. Replay: while the stored reply is kept, schedules
nothing, and returns the first reply, but with the present due time of a kept task.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include due
-- @include lines
local ids, dues, known, runs, seen, adds, records, reply = {}, {}, nil, nil, {}, {}, {}, {}
-- `grouped` has the group of each task by its position. `written` has the records by id that this call has stored so far.
local grouped, written = {}, {}
local find, byte = string.find, string.byte
local count, added, earliest = 0, 0, nil
-- `any_other` is true if the id of some task exists, or if some task has a group. `one_by_one` is true if the tasks cannot be
-- added to `due` in one command.
local any_other, one_by_one = false, false

-- Reads the ids and due times. Returns an error if a task is invalid.
local function read_tasks()
  -- Most tasks of a call are due at the same time, so the same text is not parsed again.
  local when, due
  for i = 3, #ARGV, 3 do
    if not ARGV[i + 2] then return redis.error_reply('BADTASK the last task is incomplete; nothing was scheduled') end
    if ARGV[i + 1] ~= when then when, due = ARGV[i + 1], parse_due(ARGV[i + 1], now_ms) end
    if not due then
      return redis.error_reply('BADTASK the due time in ARGV[' .. i + 1 .. '] is neither "d<ms>" nor "a<ms>"; nothing was scheduled')
    end
    count = count + 1
    ids[count], dues[count] = ARGV[i], due
  end
  if count < 1 or count > 300 then
    return redis.error_reply('BADTASK the call has ' .. count .. ' tasks instead of 1 to 300; nothing was scheduled')
  end
end

local function due_before(id)
  local ms = seen[id] or tonumber(redis.call('ZSCORE', KEYS[1], id)) or 0
  return ms < IN_LINE and ms or ms - IN_LINE
end

-- Makes the reply from the stored reply of an earlier call. `first_ms` is the due time if that call had one task; otherwise the time of
-- that call. `first_codes` is empty if the script `schedule-one` has stored the reply.
local function repeat_answers(first_ms, first_codes)
  for i, id in ipairs(ids) do
    local code, n = tonumber(string.sub(first_codes, i, i)) or 1, #reply
    local due = count == 1 and first_ms or parse_due(ARGV[3 * i + 1], first_ms)
    reply[n + 1], reply[n + 2] = code, code <= 2 and due or due_before(id)
  end
  return reply
end

-- Decides for each task if it is added, or replaces a task, or if the existing task is kept. Prepares the writes and the reply.
local function decide(on_conflict)
  local text, text_ms
  for i = 1, count do
    local id, due = ids[i], dues[i]
    local code = (known[i] or seen[id]) and on_conflict or 1
    -- A task runs if it has a record, a run and a lease.
    if code == 0 and not (known[i] and runs[i] and redis.call('ZSCORE', KEYS[4], id)) then code = 2 end
    -- The id of a schedule begins with byte 1. If its due time is over, a worker may have created the task for that time already. So
    -- nothing is stored, and the caller computes a later time.
    if due <= now_ms and byte(id) == 1 then code = 3 end
    if code > 2 then
      due = due_before(id)
    else
      if due ~= text_ms then text, text_ms = string.format('%.0f', due), due end
      local record = ARGV[3 * i + 2]
      -- A record without an '@' has no group. This plain search is faster than the pattern in `group_of`.
      if find(record, '@', 1, true) then grouped[i] = group_of(record) end
      if code ~= 1 or grouped[i] or runs[i] then
        any_other, one_by_one = true, one_by_one or code == 0 or grouped[i] ~= nil
      end
      adds[added + 1], adds[added + 2] = text, id
      -- The stored text ends with the due time, so that the cleanup can repair a task whose entry in `due` is lost.
      records[added + 1], records[added + 2] = id, record .. '\n' .. text
      seen[id], added = due, added + 2
      if not earliest or due < earliest then earliest = due end
    end
    if code > 2 then any_other = true end
    reply[2 * i - 1], reply[2 * i] = code, due
  end
end

-- Removes the task that the i-th task replaces. If `one_by_one` is true, also adds the i-th task to `due`.
local function write_task(i, code)
  local id = ids[i]
  if code == 0 then
    -- The existing task is running. State 'a' means that the new task, whose record replaces that of the old one, follows it (see
    -- next.lua).
    redis.call('HSET', KEYS[6], id, (string.gsub(redis.call('HGET', KEYS[6], id), '^(%d+) l ', '%1 a ', 1)))
    return
  end
  -- A new task may find the run of a task whose record was lost, by an eviction for example. If that run stayed, its attempt would remove
  -- the new task when it ends.
  if code == 2 or code == 1 and runs[i] then
    local group = group_of(written[id] or known[i] or '')
    if group then leave(KEYS[1], KEYS[2], KEYS[3], group, id, now_ms) end
    if redis.call('ZREM', KEYS[4], id) == 1 then redis.pcall('SPUBLISH', KEYS[8], 'cancelled ' .. id) end
    redis.call('ZREM', KEYS[7], id)
    redis.call('HDEL', KEYS[6], id)
  end
  if code > 2 or not one_by_one then return end
  written[id] = ARGV[3 * i + 2]
  if grouped[i] then
    place(KEYS[1], KEYS[2], KEYS[3], grouped[i], dues[i], id)
  else
    redis.call('ZADD', KEYS[1], string.format('%.0f', dues[i]), id)
  end
end

local wrong = read_tasks()
if wrong then return wrong end
known = redis.call('HMGET', KEYS[5], unpack(ids))
local mark, first = redis.call('GET', KEYS[8]), redis.call('GET', KEYS[9])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[4])
runs = redis.call('HMGET', KEYS[6], unpack(ids))
redis.call('ZCARD', KEYS[7])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
local first_ms, first_codes = string.match(first or '', '^(%d+):?(%d*)$')
if first_ms then return repeat_answers(tonumber(first_ms), first_codes) end
decide(ARGV[1] == 'replace' and 2 or ARGV[1] == 'after' and 0 or 3)
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if earliest and must_wake(mark, earliest) and is_mute(KEYS[8]) then return redis.error_reply(MUTE) end
local codes = string.rep('1', any_other and 0 or count)
for i = 1, any_other and count or 0 do
  codes = codes .. reply[2 * i - 1]
  write_task(i, reply[2 * i - 1])
end
redis.call('SET', KEYS[9], string.format('%.0f:', count == 1 and dues[1] or now_ms) .. codes, 'PX', ARGV[2])
if added == 0 then return reply end
if not one_by_one then redis.call('ZADD', KEYS[1], unpack(adds)) end
redis.call('HSET', KEYS[5], unpack(records))
if must_wake(mark, earliest) then
  redis.call('SET', KEYS[8], string.format('%.0f', earliest), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[8], 'due')
end
return reply
