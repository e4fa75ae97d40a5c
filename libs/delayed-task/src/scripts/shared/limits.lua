-- @include lines
-- Applies the limits of groups: how many tasks of a group may run, and how many may start in a period. A group's head is its next task.
-- If a group may start no task, it is held: its head gets the time in `due` at which workers should look again. `limits` has:
--   pauses, places, rates, leased  keys. `places` has '<group>\n<id>' of each running task. `rates` has for each group the ms when all
--                                  of its `starts` are free again; each start adds window_ms / starts. No entry: all are free now
--   concurrency, starts, window_ms  maximum number of running tasks of a group, and of starts in window_ms; 0: any number
--   groups, names  state and names of the groups that this call has read
--   backs          tasks that must wait, because their group may start none: group, due time and id of each
--   places_added   tasks to add to `places`, as arguments of ZADD

local function limits_of(pauses, places, rates, leased, concurrency, starts, window_ms)
  return {
    pauses = pauses, places = places, rates = rates, leased = leased, concurrency = tonumber(concurrency),
    starts = tonumber(starts), window_ms = tonumber(window_ms), groups = {}, names = {}, backs = {}, places_added = {},
  }
end

-- Workers look at a full group again after this time, ms, even if no worker reports that one of its tasks has ended.
local FULL_MS = 1000

-- Returns true if a task has a lease. The lease is 0 if the attempt has ended and another task follows under the same id (see next.lua).
local function is_running(lease)
  return lease and tonumber(lease) > 0
end

-- Returns the number of running tasks of a group. If the group seems full, first removes tasks that have ended from `places`.
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

-- Returns the state of a group, which a call reads from Redis only once. `room`: number of further tasks that may run. `spent`: ms when all
-- of its `starts` are free again; the present time if they are free.
local function look_at(limits, group)
  local known = limits.groups[group]
  if known then return known end
  known = { room = math.huge, spent = now_ms }
  if limits.concurrency > 0 then known.room = limits.concurrency - count_running(limits, group) end
  -- If the clock of Redis was set back, the stored time would block the group for too long.
  local spent = limits.starts > 0 and tonumber(redis.call('ZSCORE', limits.rates, group) or 0) or 0
  known.spent = math.max(now_ms, math.min(spent, now_ms + 2 * limits.window_ms))
  known.paused = limits.any_paused and redis.call('HEXISTS', limits.pauses, group) == 1
  limits.groups[group], limits.names[#limits.names + 1] = known, group
  return known
end

local function read_pauses(limits)
  if limits.any_paused == nil then limits.any_paused = redis.call('HLEN', limits.pauses) > 0 end
end

-- Returns how many tasks of a group may start now. If the queue has no limits and no paused groups, this reads nothing per group.
local function starts_left(limits, group)
  read_pauses(limits)
  if not limits.any_paused and limits.concurrency + limits.starts == 0 then return math.huge end
  local known = look_at(limits, group)
  if known.paused then return 0 end
  if limits.starts == 0 then return known.room end
  local step = limits.window_ms / limits.starts
  -- `spent` is a sum of fractions, so it may be too large by a rounding error. Adding 0.001 corrects the error.
  return math.min(known.room, math.floor((now_ms + limits.window_ms - known.spent + 0.001) / step))
end

-- Returns true if a due task may start. Otherwise adds it to the tasks that must wait.
local function may_start(limits, group, ms, id)
  if starts_left(limits, group) >= 1 then return true end
  limits.backs[#limits.backs + 1] = { group, tonumber(ms), id }
  return false
end

-- Counts a task that starts. A task that is taken again after its lease has ended may be in `places` already.
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

-- Stores the counted starts, and removes the groups from `rates` whose starts are all free again.
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

-- Puts back the tasks that must wait: the head of a group into `due`, any other task behind the head.
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

-- Holds the groups that have reached a limit: their head gets the time at which workers should look again. A head that is not due yet keeps
-- its time.
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

-- Makes the head of a held group due if one of the group's tasks has ended, unless the group is paused. `ended`: members of `places` whose
-- tasks may have ended.
local function free_places(limits, due, heads, ended)
  -- A worker that died reports nothing, so two random tasks are checked as well.
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

-- Raises an error if a key has the wrong type. Redis does not roll back, so this must happen before the first write.
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
