-- @include clock
-- @include state
-- The state is the number of hits. The expiry of the key is the end of the window; the first hit of a window sets the expiry.
-- In the window after a reset, the state is `reset:<hits>`. INCRBY fails on that, so `consume` decides, which knows the end of
-- the window exactly. Without this mark, a refund of hits before the reset might take this window for the one before it.
local RESET = 'reset:'
local function read_count(rule, key, value)
  local mark = string.sub(value, 1, #RESET) == RESET and RESET or ''
  local hits = string.match(value, '^%d+$', #mark + 1)
  local count = hits and math.min(tonumber(hits), 9e15) or 0
  local ends_ms = count > 0 and redis.call('PEXPIRETIME', key) or 0
  if ends_ms == -1 or ends_ms > now_ms + rule.window_ms then ends_ms = now_ms + rule.window_ms end
  if ends_ms <= now_ms then return 0, now_ms + rule.window_ms, mark end
  return count, ends_ms, mark
end

algorithms['fixed-window'] = {
  look = function(rule, key, value)
    local count, ends_ms, mark = read_count(rule, key, value)
    local left_ms = ends_ms - now_ms
    local reset_ms = count > 0 and left_ms or 0
    return count, reset_ms, left_ms, reset_ms, count, ends_ms, mark
  end,
  charge = function(_, key, cost, count, ends_ms, mark)
    redis.call('SET', key, mark .. string.format('%.0f', count + cost), 'PXAT', ends_ms)
    return ends_ms - now_ms, ends_ms - now_ms
  end,
  refund = function(rule, key, value, cost, charged_until_ms)
    local count, ends_ms, mark = read_count(rule, key, value)
    if count == 0 or ends_ms ~= charged_until_ms then return 0 end
    local given = math.min(cost, count)
    if mark == RESET then
      redis.call('SET', key, mark .. string.format('%.0f', count - given), 'PXAT', ends_ms)
    elseif given == count then
      redis.call('DEL', key)
    else
      redis.call('DECRBY', key, given)
    end
    return given
  end,
}
