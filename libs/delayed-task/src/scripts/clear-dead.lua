--[[
clear-dead: replay or drop the next dead letters of a partition that a filter selects, the oldest first.

KEYS[1]  due        zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  lines      zset    <prefix>:delayed-task:{<partition>}:lines
KEYS[3]  heads      hash    <prefix>:delayed-task:{<partition>}:heads
KEYS[4]  tasks      hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[5]  runs       hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[6]  dead       zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[7]  waits      string  <prefix>:delayed-task:{<partition>}:waits
KEYS[8]  operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>   the reply of this call
ARGV[1]  verb         str         'replay': the tasks are due now and start at attempt 1 | 'drop': the tasks are deleted
ARGV[2]  name         str         name of the tasks; '' for all names
ARGV[3]  untilMs      int         dead letters that are newer than this time are left alone, ms; at most Redis' time
ARGV[4]  afterMs      int         time of the dead letter that the last call read last, ms; for the first call, time of the oldest to read
ARGV[5]  afterId      str         id of the dead letter that the last call read last; '' for the first call
ARGV[6]  limit        int 1..100  maximum number of dead letters to read
ARGV[7]  operationMs  int         how long the reply is stored, so that a replay can return it, ms

Returns {done, untilMs, lastMs, lastId}
  done     int  tasks that were replayed or dropped
  untilMs  int  argument of the next call, so that tasks which are dead-lettered meanwhile are left alone, and the calls end
  lastMs   int  ms of the last dead letter that was read
  lastId   str  id of the last dead letter that was read; '' if there are no more

O(log² n + limit log n). TTL: operationMs for the stored reply. Clock: Redis. Replay: changes nothing, and returns the first
reply, while it is stored.
]]
-- @include clock
-- @include writes
-- @include wake
-- @include dead-ranks
-- @include task-record
-- @include run
-- @include lines
local groups = {}
-- Returns where to read in the sorted set of dead letters: first rank, rank after the last one, and number of entries up to `till`.
local function find_ranks(till)
  local before = redis.call('ZCOUNT', KEYS[6], '-inf', '(' .. ARGV[4])
  local same = redis.call('ZCOUNT', KEYS[6], ARGV[4], ARGV[4])
  local from = rank_after(before, before + same, ARGV[5], function(rank)
    return redis.call('ZRANGE', KEYS[6], rank, rank)[1]
  end)
  local count = redis.call('ZCOUNT', KEYS[6], '-inf', till)
  return from, math.min(from + ARGV[6], count), count
end

local function choose(rows)
  local ids, chosen = {}, {}
  for i = 1, #rows, 2 do ids[#ids + 1] = rows[i] end
  local records = redis.call('HMGET', KEYS[4], unpack(ids))
  for i, id in ipairs(ids) do
    local record = records[i]
    local is_named = ARGV[2] == '' or record and name_of(record) == ARGV[2]
    -- If Redis has lost the data of a dead letter, it cannot be replayed, only dropped.
    if is_named and (record or ARGV[1] == 'drop') then
      chosen[#chosen + 1] = id
      groups[id] = record and group_of(record)
    end
  end
  return chosen
end

local function make_due(ids, mark)
  local dues = {}
  for _, id in ipairs(ids) do
    if groups[id] then
      place(KEYS[1], KEYS[2], KEYS[3], groups[id], now_ms, id)
      redis.call('HSET', KEYS[5], id, format_run(0, 'w', '-', now_ms, 0, 0, ''))
    else
      dues[#dues + 1], dues[#dues + 2] = now_ms, id
    end
  end
  if #dues > 0 then redis.call('ZADD', KEYS[1], unpack(dues)) end
  if must_wake(mark, now_ms) then
    redis.call('SET', KEYS[7], string.format('%.0f', now_ms), 'PX', WAITS_MS)
    redis.pcall('SPUBLISH', KEYS[7], 'due')
  end
end

local first = redis.call('GET', KEYS[8])
if first then
  local done, till, ms, id = string.match(first, '^(%d+) (%d+) (%d+) (.*)$')
  return { tonumber(done), tonumber(till), tonumber(ms), id }
end
local till = math.min(now_ms, tonumber(ARGV[3]))
local from, stop, count = find_ranks(till)
local mark = redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[1])
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
if from >= stop then
  -- The reply is stored even if there is none: a copy of this call that arrives late must not clear a task that has died meanwhile.
  redis.call('SET', KEYS[8], string.format('0 %.0f 0 ', till), 'PX', ARGV[7])
  return { 0, till, 0, '' }
end
local rows = redis.call('ZRANGE', KEYS[6], from, stop - 1, 'WITHSCORES')
local chosen = choose(rows)
if not may_write(KEYS[6]) then return redis.error_reply(DENIED) end
local last_ms, last_id = tonumber(rows[#rows]), stop < count and rows[#rows - 1] or ''
local reply = { #chosen, till, last_ms, last_id }
redis.call('SET', KEYS[8], string.format('%d %.0f %.0f ', #chosen, till, last_ms) .. last_id, 'PX', ARGV[7])
if #chosen == 0 then return reply end
redis.call('ZREM', KEYS[6], unpack(chosen))
redis.call('HDEL', KEYS[5], unpack(chosen))
if ARGV[1] == 'drop' then
  redis.call('HDEL', KEYS[4], unpack(chosen))
else
  make_due(chosen, mark)
end
return reply
