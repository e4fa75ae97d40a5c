--[[
defer: give tasks back for which the worker has no handler. They are due again after a pause, and the attempt does not count.
A task that was first given back more than `longestMs` ago is dead-lettered; a schedule never is.

KEYS[1]    due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]    leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]    runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[4]    dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[5]    waits   string  <prefix>:delayed-task:{<partition>}:waits
ARGV[1]    longestMs  int           a task is dead-lettered if it was first given back longer ago than this, ms
ARGV[2]    share      int 1..1000   part of the pause to wait, in thousandths. It is random, so that
                                    the workers do not take the task at the same time again and again
ARGV[3]    error      str           error of the tasks that are dead-lettered
ARGV[4..]  pairs      list(str)     id of a task, token of its lease; 1 to 300 of them

Returns {code, ...}
  code  0 | 1 | 2   0: the task is no longer leased to the worker, nothing was changed; also if another worker dead-lettered it,
                    because its lease had ended | 1: given back | 2: dead-lettered

O(n log m). TTL: none; the script sweep deletes old dead letters. Clock: Redis. Replay: returns the first reply, until another call
takes or changes the task.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include run
local ids, reply, gone, texts, dues, buried, earliest = {}, {}, {}, {}, {}, {}, math.huge
for i = 4, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local runs = redis.call('HMGET', KEYS[3], unpack(ids))
local mark = redis.call('GET', KEYS[5])
redis.call('ZCARD', KEYS[1])
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[4])
for i, id in ipairs(ids) do
  local run = parse_run(runs[i])
  local ours = run.token == ARGV[2 * i + 3]
  -- In a replay, the token alone does not show that the first call has dead-lettered the task, so the error is compared, too.
  -- State 'a' means that another task follows under this id when the lease ends.
  reply[i] = ours and ((run.state == 'b' or run.state == 'a') and 1 or run.state == 'd' and run.problem == ARGV[3] and 2) or 0
  if ours and run.state == 'l' then
    local since = run.unknown > 0 and run.unknown or now_ms
    -- The id of a schedule begins with byte 1. A schedule must go on, so it is never dead-lettered.
    local dies = now_ms - since >= tonumber(ARGV[1]) and string.byte(id) > 1
    reply[i], gone[#gone + 1], texts[#texts + 1] = dies and 2 or 1, id, id
    if dies then
      buried[#buried + 1], buried[#buried + 2] = now_ms, id
      texts[#texts + 1] = format_run(run.attempt - 1, 'd', run.token, run.due, run.failed > 0 and run.failed or since, 0, ARGV[3])
    else
      local pause = math.max(100, math.min(10000, (now_ms - since) / 8)) * ARGV[2] / 1000
      local back = now_ms + math.ceil(pause)
      earliest, dues[#dues + 1], dues[#dues + 2] = math.min(earliest, back), back, id
      texts[#texts + 1] = format_run(run.attempt - 1, 'b', run.token, run.due, run.failed, since, run.problem)
    end
  end
end
if #gone == 0 then return reply end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
redis.call('ZREM', KEYS[2], unpack(gone))
redis.call('HSET', KEYS[3], unpack(texts))
if #buried > 0 then redis.call('ZADD', KEYS[4], unpack(buried)) end
if #dues == 0 then return reply end
redis.call('ZADD', KEYS[1], unpack(dues))
if must_wake(mark, earliest) then
  redis.call('SET', KEYS[5], string.format('%.0f', earliest), 'PX', WAITS_MS)
  redis.pcall('SPUBLISH', KEYS[5], 'due')
end
return reply
