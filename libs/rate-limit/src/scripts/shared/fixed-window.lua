-- The state is the count; the key's expiry is the end of the window, so that it stays where the first hit put it.
local function read_count(rule, value)
  local count = string.find(value, '^%d+$') and math.min(tonumber(value), 9e15) or 0
  local ends_ms = count > 0 and redis.call('PEXPIRETIME', rule.key) or 0
  if ends_ms == -1 or ends_ms > now_ms + rule.window_ms then ends_ms = now_ms + rule.window_ms end
  if ends_ms <= now_ms then return 0, now_ms + rule.window_ms end
  return count, ends_ms
end

algorithms['fixed-window'] = {
  look = function(rule, value)
    rule.count, rule.ends_ms = read_count(rule, value)
    local left_ms = rule.ends_ms - now_ms
    return rule.count, rule.count > 0 and left_ms or 0, left_ms
  end,
  charge = function(rule)
    redis.call('SET', rule.key, rule.count + rule.cost, 'PXAT', rule.ends_ms)
    return rule.ends_ms - now_ms
  end,
  refund = function(rule, value)
    local count, ends_ms = read_count(rule, value)
    if count == 0 or rule.charged_us < (ends_ms - rule.window_ms) * 1000 then return 0 end
    local given = math.min(rule.cost, count)
    if given == count then
      redis.call('DEL', rule.key)
    else
      redis.call('SET', rule.key, count - given, 'PXAT', ends_ms)
    end
    return given
  end,
}
