--[[
release: give back tasks that a worker has taken and not finished. They are due again, and the attempt does not count.

KEYS[1]    due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]    leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]    runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[4]    waits   string  <prefix>:delayed-task:{<partition>}:waits
ARGV[1..]  pairs   list(str)  id of a task, token of its lease; 1 to 300 of them

Returns {released, at, ...}
  released  int  number of tasks that were given back
  at        int  place in `pairs`, from 0, of a task that does not exist, or is no longer leased to the worker

O(n log m). TTL: none. Clock: Redis. Replay: changes nothing, and counts the tasks again that the first call gave back, until
another call takes or changes them.
]]
-- @include writes
-- @include wake
-- @include run
-- @include next
local ids, dues, texts, gone, ended, reply, earliest = {}, {}, {}, {}, {}, { 0 }, math.huge
for i = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local runs = redis.call('HMGET', KEYS[3], unpack(ids))
local mark = redis.call('GET', KEYS[4])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[2])
for i, id in ipairs(ids) do
  local run = parse_run(runs[i])
  if run.token == ARGV[2 * i] and run.state == 'b' then
    reply[1] = reply[1] + 1
  elseif runs[i] and has_next(runs[i], ARGV[2 * i]) then
    reply[1], ended[#ended + 1] = reply[1] + 1, i
  elseif run.token ~= ARGV[2 * i] or run.state ~= 'l' then
    reply[#reply + 1] = i - 1
  else
    reply[1], earliest = reply[1] + 1, math.min(earliest, run.due)
    gone[#gone + 1] = id
    dues[#dues + 1], dues[#dues + 2] = run.due, id
    texts[#texts + 1] = id
    texts[#texts + 1] = format_run(run.attempt - 1, 'b', run.token, run.due, run.failed, run.unknown, run.problem)
  end
end
if #gone + #ended == 0 then return reply end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
for _, i in ipairs(ended) do
  redis.call('ZADD', KEYS[2], '0', ids[i])
  redis.call('HSET', KEYS[3], ids[i], end_before_next(runs[i]))
  redis.pcall('SPUBLISH', KEYS[4], 'due')
end
if #gone == 0 then return reply end
redis.call('ZREM', KEYS[2], unpack(gone))
redis.call('ZADD', KEYS[1], unpack(dues))
redis.call('HSET', KEYS[3], unpack(texts))
if must_wake(mark, earliest) then
  redis.call('SET', KEYS[4], string.format('%.0f', earliest), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[4], 'due')
end
return reply
