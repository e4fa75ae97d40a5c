-- @include clock
-- @include state
-- Parses the state: <number of the window>:<hits in this window>:<hits in the window before>. Window n begins at n * window_ms.
local function read_windows(value)
  local last, current, previous = string.match(value, '^(%d+):(%d+):(%d+)$')
  if not last then return nil end
  return tonumber(last), math.min(tonumber(current), 1e10), math.min(tonumber(previous), 1e10)
end
local function write_windows(rule, key, last, current, previous)
  redis.call('SET', key, string.format('%.0f:%.0f:%.0f', last, current, previous), 'PXAT', (last + 2) * rule.window_ms)
end
-- Returns true if the hits of a state still count. After the clock was set back, the state may belong to the next window, and counts, too.
local function is_live(last, window)
  return last and last >= window - 1 and last <= window + 1
end
-- Returns the ms until at most `free` hits count. The hits of the window before count less and less during this window, and those of this
-- window during the next one.
local function ms_to(free, current, previous, window_ms)
  local left_ms = window_ms - now_ms % window_ms
  if current <= free then
    return previous > 0 and left_ms - math.floor((free - current) * window_ms / previous) or 0
  end
  if free < 0 then return left_ms end
  return left_ms + math.max(0, window_ms - math.floor(free * window_ms / current))
end
-- Returns the ms until more hits are allowed; 0 if no hit counts.
local function ms_to_next(rule, current, previous)
  local left_ms = rule.window_ms - now_ms % rule.window_ms
  local used = math.ceil(current + previous * left_ms / rule.window_ms - 1e-9)
  return used > 0 and math.max(1, ms_to(math.min(used, rule.limit) - 1, current, previous, rule.window_ms)) or 0
end

algorithms['sliding-window'] = {
  look = function(rule, _, value, cost)
    local window_ms = rule.window_ms
    local window, left_ms = math.floor(now_ms / window_ms), window_ms - now_ms % window_ms
    local last, current, previous = read_windows(value)
    if not is_live(last, window) then
      current, previous = 0, 0
    elseif last == window - 1 then
      current, previous = 0, current
    else
      window = last
    end
    local reset_ms = current > 0 and left_ms + window_ms or previous > 0 and left_ms or 0
    local retry_ms, next_ms = ms_to(rule.limit - cost, current, previous, window_ms), ms_to_next(rule, current, previous)
    return current + previous * left_ms / window_ms, reset_ms, retry_ms, next_ms, current, previous, window
  end,
  charge = function(rule, key, cost, current, previous, window)
    write_windows(rule, key, window, current + cost, previous)
    return 2 * rule.window_ms - now_ms % rule.window_ms, ms_to_next(rule, current + cost, previous)
  end,
  refund = function(rule, key, value, cost, charged_us)
    local last, current, previous = read_windows(value)
    if not is_live(last, math.floor(now_ms / rule.window_ms)) then return 0 end
    local age = last - math.floor(charged_us / 1000 / rule.window_ms)
    if age ~= 0 and age ~= 1 then return 0 end
    local given = math.min(cost, age == 0 and current or previous)
    if age == 0 then current = current - given else previous = previous - given end
    write_windows(rule, key, last, current, previous)
    return given
  end,
}
