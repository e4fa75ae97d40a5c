-- The state is <number of the window>:<hits in it>:<hits in the one before>; windows are cut from Redis' clock.
local function read_windows(value)
  local last, current, previous = string.match(value, '^(%d+):(%d+):(%d+)$')
  if not last then return nil end
  return tonumber(last), math.min(tonumber(current), 1e10), math.min(tonumber(previous), 1e10)
end
local function write_windows(rule, last, current, previous)
  local state = string.format('%.0f:%.0f:%.0f', last, current, previous)
  redis.call('SET', rule.key, state, 'PXAT', (last + 2) * rule.window_ms)
end

algorithms['sliding-window'] = {
  look = function(rule, value)
    local window_ms, cost = rule.window_ms, rule.cost
    local window, left_ms = math.floor(now_ms / window_ms), window_ms - now_ms % window_ms
    local last, current, previous = read_windows(value)
    if not last or last < window - 1 or last > window + 1 then
      last, current, previous = window, 0, 0
    elseif last == window - 1 then
      last, current, previous = window, 0, current
    end
    rule.last, rule.current, rule.previous, rule.left_ms = last, current, previous, left_ms
    local reset_ms = current > 0 and left_ms + window_ms or previous > 0 and left_ms or 0
    local free, retry_ms = rule.limit - cost, left_ms
    if current <= free and previous > 0 then
      retry_ms = left_ms - math.floor((free - current) * window_ms / previous)
    elseif current > free and free >= 0 then
      retry_ms = left_ms + math.max(0, window_ms - math.floor(free * window_ms / current))
    end
    return current + previous * left_ms / window_ms, reset_ms, retry_ms
  end,
  charge = function(rule)
    write_windows(rule, rule.last, rule.current + rule.cost, rule.previous)
    return rule.left_ms + rule.window_ms
  end,
  refund = function(rule, value)
    local last, current, previous = read_windows(value)
    local window = math.floor(now_ms / rule.window_ms)
    if not last or last > window + 1 or last < window - 1 then return 0 end
    local age = last - math.floor(rule.charged_us / 1000 / rule.window_ms)
    if age ~= 0 and age ~= 1 then return 0 end
    local given = math.min(rule.cost, age == 0 and current or previous)
    if age == 0 then current = current - given else previous = previous - given end
    write_windows(rule, last, current, previous)
    return given
  end,
}
