-- GCRA, kept as <hits not drained yet>:<us of that>: an arrival time in us has too few digits for high rates.
local function level_of(rule, value)
  local level, at_us = string.match(value, '^([%d.e+-]+):(%d+)$')
  if not level then return 0 end
  local drained = math.max(0, now_us - at_us) * rule.limit / (rule.window_ms * 1000)
  -- A level that somebody else has written may be anything.
  return math.max(0, math.min(tonumber(level) or 0, 1e10) - drained)
end
local function ms_to_drain(rule, hits)
  if rule.limit == 0 then return rule.window_ms end
  return math.min(1e13, math.max(0, math.ceil(hits * rule.window_ms / rule.limit)))
end
local function write_level(rule, key, level)
  local reset_ms = ms_to_drain(rule, level)
  redis.call('SET', key, string.format('%.17g:%.0f', level, now_us), 'PXAT', now_ms + reset_ms + 1)
  return reset_ms
end

algorithms['token-bucket'] = {
  look = function(rule, _, value, cost)
    local level = math.min(rule.capacity, level_of(rule, value))
    local over = level + cost - rule.capacity
    return level, level > 0 and ms_to_drain(rule, level) or 0, math.max(1, ms_to_drain(rule, over)), level
  end,
  charge = function(rule, key, cost, level)
    return write_level(rule, key, level + cost)
  end,
  -- What has drained since may have gone to others, so only the rest is given back.
  refund = function(rule, key, value, cost, charged_us)
    local drained = (now_us - charged_us) * rule.limit / (rule.window_ms * 1000)
    local level = level_of(rule, value)
    local given = math.min(level, math.max(0, cost - drained))
    if given > 0 then write_level(rule, key, level - given) end
    return math.floor(given + 0.5)
  end,
}
