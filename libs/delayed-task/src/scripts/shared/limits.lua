-- @include lines
-- Limits of groups. `limits` has what a script needs of them:
--   pauses, places, rates, leased  keys. `places` has '<group>\n<id>' of the tasks that run, `rates` of each group the ms until which its
--                                  starts so far have used up its rate; without an entry, that is now
--   concurrency, starts, window_ms  most tasks of a group that run, and that start in a window; 0: any number
--   groups, names  what is known of the groups that this call has looked at, and their names
--   backs          tasks that stay, because their group may start none: group, due time and id of each
--   places_added   arguments of ZADD
-- A group that may start no task is held: its head, if it is due, gets the time in `due` at which workers look again.

local function limits_of(pauses, places, rates, leased, concurrency, starts, window_ms)
  return {
    pauses = pauses, places = places, rates = rates, leased = leased, concurrency = tonumber(concurrency),
    starts = tonumber(starts), window_ms = tonumber(window_ms), groups = {}, names = {}, backs = {}, places_added = {},
  }
end

-- When workers look at a full group again, if no worker reports the end of one of its tasks, ms.
local FULL_MS = 1000

-- A lease of 0 has ended, see next.lua.
local function is_running(lease)
  return lease and tonumber(lease) > 0
end

-- Returns the number of tasks of a group that run. Only if it seems full are tasks that have ended found, and removed from `places`.
local function count_running(limits, group)
  local first, last = '[' .. group .. '\n', '(' .. group .. '\11'
  local count = redis.call('ZLEXCOUNT', limits.places, first, last)
  if count < limits.concurrency then return count end
  local members, ids, ended = redis.call('ZRANGEBYLEX', limits.places, first, last, 'LIMIT', 0, 2000), {}, {}
  for i, member in ipairs(members) do ids[i] = string.sub(member, #group + 2) end
  for i, lease in ipairs(redis.call('ZMSCORE', limits.leased, unpack(ids))) do
    if not is_running(lease) then ended[#ended + 1] = members[i] end
  end
  if #ended > 0 then redis.call('ZREM', limits.places, unpack(ended)) end
  return count - #ended
end

-- Returns what is known of a group: `room`, the number of its tasks that may still run, and `spent`, the ms until which its rate is
-- used up.
local function look_at(limits, group)
  local known = limits.groups[group]
  if known then return known end
  known = { room = math.huge, spent = now_ms }
  if limits.concurrency > 0 then known.room = limits.concurrency - count_running(limits, group) end
  -- The clock of Redis may have been set back.
  local spent = limits.starts > 0 and tonumber(redis.call('ZSCORE', limits.rates, group) or 0) or 0
  known.spent = math.max(now_ms, math.min(spent, now_ms + 2 * limits.window_ms))
  known.paused = limits.any_paused and redis.call('HEXISTS', limits.pauses, group) == 1
  limits.groups[group], limits.names[#limits.names + 1] = known, group
  return known
end

local function read_pauses(limits)
  if limits.any_paused == nil then limits.any_paused = redis.call('HLEN', limits.pauses) > 0 end
end

-- Returns how many tasks of a group may start now. Without limits, one read for all groups of a call.
local function starts_left(limits, group)
  read_pauses(limits)
  if not limits.any_paused and limits.concurrency + limits.starts == 0 then return math.huge end
  local known = look_at(limits, group)
  if known.paused then return 0 end
  if limits.starts == 0 then return known.room end
  local step = limits.window_ms / limits.starts
  -- The steps are fractions, so their sum is not exact.
  return math.min(known.room, math.floor((now_ms + limits.window_ms - known.spent + 0.001) / step))
end

-- Returns true if a due task may start. Else notes that it stays.
local function may_start(limits, group, ms, id)
  if starts_left(limits, group) >= 1 then return true end
  limits.backs[#limits.backs + 1] = { group, tonumber(ms), id }
  return false
end

-- Counts a task that starts. One whose lease has ended may be counted already.
local function count_start(limits, group, id, has_run)
  if limits.concurrency + limits.starts == 0 then return end
  local known, member = look_at(limits, group), group .. '\n' .. id
  if limits.starts > 0 then
    known.spent, known.has_started = known.spent + limits.window_ms / limits.starts, true
  end
  if limits.concurrency == 0 then return end
  if not (has_run and redis.call('ZSCORE', limits.places, member)) then known.room = known.room - 1 end
  local adds = limits.places_added
  adds[#adds + 1], adds[#adds + 2] = 0, member
end

-- Stores the counted starts. Removes rates that are not used up any more.
local function write_starts(limits)
  local rates = {}
  for _, group in ipairs(limits.names) do
    local known = limits.groups[group]
    if known.has_started then rates[#rates + 1], rates[#rates + 2] = string.format('%.17g', known.spent), group end
  end
  if #limits.places_added > 0 then redis.call('ZADD', limits.places, unpack(limits.places_added)) end
  if #rates == 0 then return end
  local old = redis.call('ZRANGEBYSCORE', limits.rates, '-inf', now_ms, 'LIMIT', 0, 512)
  if #old > 0 then redis.call('ZREM', limits.rates, unpack(old)) end
  redis.call('ZADD', limits.rates, unpack(rates))
  redis.pcall('PEXPIRE', limits.rates, 2 * limits.window_ms)
end

-- Puts back the tasks that stay: a head stays the head, another one waits in line.
local function put_back(limits, due, lines, heads)
  for _, back in ipairs(limits.backs) do
    local group, ms, id = unpack(back)
    if redis.call('HGET', heads, group) == id then
      redis.call('ZADD', due, now_ms, id)
    else
      place(due, lines, heads, group, ms, id)
    end
  end
end

-- Holds the groups that this call has looked at and that may start nothing more. A head that is not due yet is looked at when it is.
local function hold_groups(limits, due, heads)
  for _, group in ipairs(limits.names) do
    local known = limits.groups[group]
    local head = starts_left(limits, group) < 1 and redis.call('HGET', heads, group)
    if head and tonumber(redis.call('ZSCORE', due, head) or IN_LINE) <= now_ms then
      local step = limits.starts > 0 and limits.window_ms / limits.starts or 0
      local at = math.ceil(known.spent + step - limits.window_ms)
      if known.paused then at = PAUSED elseif at <= now_ms then at = now_ms + FULL_MS end
      redis.call('ZADD', due, string.format('%.0f', at), head)
      redis.call('HSET', heads, group .. '\n', string.format('%.0f', at))
    end
  end
end

-- Makes the heads of groups due that are held, unless the groups are paused. `ended`: members of `places` whose tasks may have ended.
local function free_places(limits, due, heads, ended)
  -- If a worker died, nobody reports its tasks.
  for _, member in ipairs(redis.call('ZRANDMEMBER', limits.places, 2)) do ended[#ended + 1] = member end
  local ids = {}
  for i, member in ipairs(ended) do ids[i] = string.match(member, '\n(.*)$') or '' end
  for i, lease in ipairs(redis.call('ZMSCORE', limits.leased, unpack(ids))) do
    if not is_running(lease) then
      redis.call('ZREM', limits.places, ended[i])
      local group = string.match(ended[i], '^[^\n]*')
      local head = redis.call('HGET', heads, group)
      local at = head and tonumber(redis.call('ZSCORE', due, head) or 0) or 0
      if at > now_ms and at < PAUSED and is_held(heads, group, at) then redis.call('ZADD', due, now_ms, head) end
    end
  end
end

-- Raises an error for keys of another type, before the first write.
local function check_groups(limits, lines, heads)
  if limits.are_checked then return end
  limits.are_checked = true
  redis.call('ZCARD', lines)
  redis.call('HLEN', heads)
  read_pauses(limits)
  if limits.concurrency + limits.starts == 0 then return end
  redis.call('ZCARD', limits.places)
  redis.call('ZCARD', limits.rates)
end
