-- @include clock
-- @include state
-- The state is the number of hits. The expiry of the key is the end of the window; the first hit of a window sets the expiry.
local function read_count(rule, key, value)
  local count = string.find(value, '^%d+$') and math.min(tonumber(value), 9e15) or 0
  local ends_ms = count > 0 and redis.call('PEXPIRETIME', key) or 0
  if ends_ms == -1 or ends_ms > now_ms + rule.window_ms then ends_ms = now_ms + rule.window_ms end
  if ends_ms <= now_ms then return 0, now_ms + rule.window_ms end
  return count, ends_ms
end

algorithms['fixed-window'] = {
  look = function(rule, key, value)
    local count, ends_ms = read_count(rule, key, value)
    local left_ms = ends_ms - now_ms
    local reset_ms = count > 0 and left_ms or 0
    return count, reset_ms, left_ms, reset_ms, count, ends_ms
  end,
  charge = function(_, key, cost, count, ends_ms)
    redis.call('SET', key, count + cost, 'PXAT', ends_ms)
    return ends_ms - now_ms, ends_ms - now_ms
  end,
  refund = function(rule, key, value, cost, charged_us)
    local count, ends_ms = read_count(rule, key, value)
    if count == 0 or charged_us < (ends_ms - rule.window_ms) * 1000 then return 0 end
    local given = math.min(cost, count)
    if given == count then
      redis.call('DEL', key)
    else
      redis.call('SET', key, count - given, 'PXAT', ends_ms)
    end
    return given
  end,
}
