--[[
schedule: add tasks to a partition. Wake the partition's workers if a task is due before the time that the workers wait for.

KEYS[1]    due        zset    <prefix>:delayed-task:{<partition>}:due      id -> ms when it is due
KEYS[2]    leased     zset    <prefix>:delayed-task:{<partition>}:leased   id -> ms when its lease ends
KEYS[3]    tasks      hash    <prefix>:delayed-task:{<partition>}:tasks    id -> record, and when it was first due
KEYS[4]    runs       hash    <prefix>:delayed-task:{<partition>}:runs     id -> attempts and token
KEYS[5]    dead       zset    <prefix>:delayed-task:{<partition>}:dead     id -> ms when it was dead-lettered
KEYS[6]    waits      string  <prefix>:delayed-task:{<partition>}:waits    due time for which workers wait; also the channel
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
-- @include due
local ids, known, seen, codes, adds, records, reply = {}, nil, {}, {}, {}, {}, {}

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

-- Decides whether to add, replace or keep the task `id`, the i-th one, and notes the writes. Returns `code` and `runAtMs` of the
-- reply.
local function decide(i, id)
  local is_there = known[i] or seen[id]
  local code = not is_there and 1 or ARGV[1] == 'replace' and 2 or 3
  codes[i] = code
  if code > 2 then return code, due_before(id) end
  local due, n = parse_due(ARGV[3 * i + 1], now_ms), #adds
  seen[id] = due
  adds[n + 1], adds[n + 2] = due, id
  -- The record ends with the due time, so that a sweep can restore a task whose entry in `due` is lost.
  records[n + 1], records[n + 2] = id, ARGV[3 * i + 2] .. string.format('\n%.0f', due)
  return code, due
end

local function wake_workers(mark)
  local earliest = adds[1]
  for i = 3, #adds, 2 do earliest = math.min(earliest, adds[i]) end
  if not mark or earliest >= (tonumber(mark) or 0) then return end
  redis.call('SET', KEYS[6], earliest, 'KEEPTTL')
  redis.pcall('SPUBLISH', KEYS[6], 'due')
end

for i = 3, #ARGV, 3 do
  ids[#ids + 1] = ARGV[i]
  if not ARGV[i + 2] then return redis.error_reply('BADTASK the last task is incomplete; nothing was scheduled') end
  if not parse_due(ARGV[i + 1], 0) then
    return redis.error_reply('BADTASK ARGV[' .. i + 1 .. '] is neither "d<ms>" nor "a<ms>"; nothing was scheduled')
  end
end
if #ids < 1 or #ids > 300 then
  return redis.error_reply('BADTASK the call has ' .. #ids .. ' tasks instead of 1 to 300; nothing was scheduled')
end
known = redis.call('HMGET', KEYS[3], unpack(ids))
local mark, first = redis.call('GET', KEYS[6]), redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[4])
redis.call('ZCARD', KEYS[5])
local first_ms, first_codes = string.match(first or '', '^(%d+):(%d+)$')
if first_codes then return repeat_answers(first_codes, tonumber(first_ms)) end
for i, id in ipairs(ids) do reply[#reply + 1], reply[#reply + 2] = decide(i, id) end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
for i, code in ipairs(codes) do
  if code == 2 then
    redis.call('ZREM', KEYS[2], ids[i])
    redis.call('ZREM', KEYS[5], ids[i])
    redis.call('HDEL', KEYS[4], ids[i])
  end
end
redis.call('SET', KEYS[7], string.format('%.0f:', now_ms) .. table.concat(codes), 'PX', ARGV[2])
if #adds == 0 then return reply end
redis.call('ZADD', KEYS[1], unpack(adds))
redis.call('HSET', KEYS[3], unpack(records))
wake_workers(mark)
return reply
