-- @include clock
-- @include state
-- A bucket whose level rises by the hits of each request and drains evenly (GCRA). Its state has the form
--   <level, hits>:<us at which it had this level>:<us at which it was last empty><lows>
-- GCRA usually stores a time instead of a level, but a time in us is too coarse for high rates. The lows are levels just before requests
-- were counted, the newest first, each in the form ;<us>,<level>. From the lows, a refund finds the lowest level since its request. If the
-- second and the third part are equal, the third part and the lows are left out.
local LOW_CHARS, MAX_LOWS = 33, 8

local function drained_in(rule, us)
  return math.max(0, us) * rule.limit / (rule.window_ms * 1000)
end
-- Returns the present level of the bucket, the us at which it was last empty, and the lows as text.
local function read_bucket(rule, value)
  local level, at_us, empty_us, lows = string.match(value, '^([%d.e+-]+):(%d+):?(%d*)([;,.%d]*)$')
  if not level then return 0, now_us, '' end
  -- The limit 1e10 protects against a huge number that another program has written.
  level = math.min(tonumber(level) or 0, 1e10) - drained_in(rule, now_us - at_us)
  if level <= 0 then return 0, now_us, '' end
  if #lows % LOW_CHARS ~= 0 then lows = '' end
  return level, tonumber(empty_us) or tonumber(at_us), lows
end
local function ms_to_drain(rule, hits)
  if rule.limit == 0 then return rule.window_ms end
  return math.min(1e13, math.max(0, math.ceil(hits * rule.window_ms / rule.limit)))
end
local function write_bucket(rule, key, level, empty_us, lows)
  local reset_ms = ms_to_drain(rule, level)
  local since = empty_us == now_us and '' or string.format(':%.0f%s', empty_us, lows)
  redis.call('SET', key, string.format('%.17g:%.0f%s', level, now_us, since), 'PXAT', now_ms + reset_ms + 1)
  return reset_ms
end
-- Returns the ms until more hits are allowed; 0 if no hit counts.
local function ms_to_token(rule, level)
  local used = math.min(rule.capacity, math.ceil(level - 1e-9))
  return used > 0 and math.max(1, ms_to_drain(rule, level - used + 1)) or 0
end
local function low_text(us, low)
  return string.format(';%016.0f,%015.4f', us, math.floor(low * 1e4) / 1e4)
end

-- Adds `low`, the level just before a request is counted, and removes the newest lows that are not below it. If there are more than
-- MAX_LOWS, joins the two oldest into one with the lower level and the later time.
local function with_low(lows, low)
  local at_us, least = string.match(lows, '^;(%d+),([%d.]+)')
  while at_us and (tonumber(least) or 0) >= low do
    lows = string.sub(lows, LOW_CHARS + 1)
    at_us, least = string.match(lows, '^;(%d+),([%d.]+)')
  end
  -- Nothing drains between two requests of the same us, so the earlier low of this us is enough.
  if tonumber(at_us) == now_us then return lows end
  lows = low_text(now_us, low) .. lows
  if #lows <= MAX_LOWS * LOW_CHARS then return lows end
  local later_us, later = string.match(lows, ';(%d+),([%d.]+);[^;]*$')
  local lowest = math.min(tonumber(later) or 0, tonumber(string.match(lows, '[%d.]*$')) or 0)
  return string.sub(lows, 1, -2 * LOW_CHARS - 1) .. low_text(tonumber(later_us) or now_us, lowest)
end

algorithms['token-bucket'] = {
  look = function(rule, _, value, cost)
    local level, empty_us, lows = read_bucket(rule, value)
    level = math.min(rule.capacity, level)
    local over = level + cost - rule.capacity
    local reset_ms = level > 0 and ms_to_drain(rule, level) or 0
    return level, reset_ms, math.max(1, ms_to_drain(rule, over)), ms_to_token(rule, level), level, empty_us, lows
  end,
  charge = function(rule, key, cost, level, empty_us, lows)
    if level > 0 then lows = with_low(lows, level) end
    return write_bucket(rule, key, level + cost, empty_us, lows), ms_to_token(rule, level + cost)
  end,
  -- Without the request, the level would be `cost` lower, but never below 0. So at most the lowest level since the request can be taken
  -- back. A stored low may be too low, because lows are rounded and joined. But at that time, the level was at least the part of the
  -- request's hits that had not drained, so `math.max` takes that part if it is larger.
  refund = function(rule, key, value, cost, charged_us)
    local level, empty_us, lows = read_bucket(rule, value)
    if charged_us < empty_us then return 0 end
    local given = math.min(level, cost)
    for at_us, low in string.gmatch(lows, ';(%d+),([%d.]+)') do
      at_us = tonumber(at_us)
      if at_us > charged_us then
        given = math.min(given, math.max(tonumber(low) or 0, cost - drained_in(rule, at_us - charged_us)))
      end
    end
    if given <= 0 then return 0 end
    lows = string.gsub(lows, ';(%d+),([%d.]+)', function(at_us, low)
      if tonumber(at_us) > charged_us then return low_text(tonumber(at_us), math.max(0, (tonumber(low) or 0) - given)) end
    end)
    write_bucket(rule, key, level - given, empty_us, lows)
    return math.floor(given + 0.5)
  end,
}
