--[[
schedule: add tasks to a partition. Wake the partition's workers if a task is due before the time that the workers wait for.

KEYS[1]    due        zset    <prefix>:delayed-task:{<partition>}:due      id -> ms when it is due
KEYS[2]    leased     zset    <prefix>:delayed-task:{<partition>}:leased   id -> ms when its lease ends
KEYS[3]    tasks      hash    <prefix>:delayed-task:{<partition>}:tasks    id -> record, and when it was first due
KEYS[4]    runs       hash    <prefix>:delayed-task:{<partition>}:runs     id -> attempts and token
KEYS[5]    dead       zset    <prefix>:delayed-task:{<partition>}:dead     id -> ms when it was dead-lettered
KEYS[6]    waits      string  <prefix>:delayed-task:{<partition>}:waits    ms until which workers wait; also the channel
KEYS[7]    operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>
ARGV[1]    conflict     str        'keep' | 'replace', for ids that exist
ARGV[2]    operationMs  int        how long the reply is kept for a replay, ms
ARGV[3..]  tasks        list(str)  id, 'd<ms>' for a delay or 'a<ms>' for an instant, record; 1 to 300 tasks

Returns {code, runAtMs, ...}
  code   1 scheduled | 2 replaced | 3 kept, the existing task stays
  runAtMs  int   when the task is due, ms; 0 for a kept task that is not waiting

O(n log m). TTL: none for tasks; operationMs for the operation. Clock: Redis. Replay: while the operation is kept, schedules
nothing again; returns the first reply, but with the present due time of a kept task.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include due
local ids, dues, known, seen, codes, adds, records, reply = {}, {}, nil, {}, {}, {}, {}, {}
local count, added, earliest = 0, 0, nil

-- Reads the ids and due times. Returns an error if a task is invalid.
local function read_tasks()
  for i = 3, #ARGV, 3 do
    if not ARGV[i + 2] then return redis.error_reply('BADTASK the last task is incomplete; nothing was scheduled') end
    local due = parse_due(ARGV[i + 1], now_ms)
    if not due then
      return redis.error_reply('BADTASK ARGV[' .. i + 1 .. '] is neither "d<ms>" nor "a<ms>"; nothing was scheduled')
    end
    count = count + 1
    ids[count], dues[count] = ARGV[i], due
  end
  if count < 1 or count > 300 then
    return redis.error_reply('BADTASK the call has ' .. count .. ' tasks instead of 1 to 300; nothing was scheduled')
  end
end

local function due_before(id)
  return seen[id] or tonumber(redis.call('ZSCORE', KEYS[1], id)) or 0
end

local function repeat_answers(first_codes, first_ms)
  for i, id in ipairs(ids) do
    local code, n = tonumber(string.sub(first_codes, i, i)), #reply
    reply[n + 1], reply[n + 2] = code, code <= 2 and parse_due(ARGV[3 * i + 1], first_ms) or due_before(id)
  end
  return reply
end

-- Decides for each task whether to add, replace or keep it, and notes the writes and the reply.
local function decide(on_conflict)
  for i = 1, count do
    local id, due = ids[i], dues[i]
    local code = (known[i] or seen[id]) and on_conflict or 1
    if code > 2 then
      due = due_before(id)
    else
      local text = string.format('%.0f', due)
      adds[added + 1], adds[added + 2] = text, id
      -- The record ends with the due time, so that a sweep can restore a task whose entry in `due` is lost.
      records[added + 1], records[added + 2] = id, ARGV[3 * i + 2] .. '\n' .. text
      seen[id], added = due, added + 2
      if not earliest or due < earliest then earliest = due end
    end
    codes[i], reply[2 * i - 1], reply[2 * i] = code, code, due
  end
end

local wrong = read_tasks()
if wrong then return wrong end
known = redis.call('HMGET', KEYS[3], unpack(ids))
local mark, first = redis.call('GET', KEYS[6]), redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[4])
redis.call('ZCARD', KEYS[5])
local first_ms, first_codes = string.match(first or '', '^(%d+):(%d+)$')
if first_codes then return repeat_answers(first_codes, tonumber(first_ms)) end
decide(ARGV[1] == 'replace' and 2 or 3)
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
if earliest and must_wake(mark, earliest) and is_mute(KEYS[6]) then return redis.error_reply(MUTE) end
for i, code in ipairs(codes) do
  if code == 2 then
    if redis.call('ZREM', KEYS[2], ids[i]) == 1 then redis.pcall('SPUBLISH', KEYS[6], 'cancelled ' .. ids[i]) end
    redis.call('ZREM', KEYS[5], ids[i])
    redis.call('HDEL', KEYS[4], ids[i])
  end
end
redis.call('SET', KEYS[7], string.format('%.0f:', now_ms) .. table.concat(codes), 'PX', ARGV[2])
if added == 0 then return reply end
redis.call('ZADD', KEYS[1], unpack(adds))
redis.call('HSET', KEYS[3], unpack(records))
if must_wake(mark, earliest) then
  redis.call('SET', KEYS[6], string.format('%.0f', earliest), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[6], 'due')
end
return reply
