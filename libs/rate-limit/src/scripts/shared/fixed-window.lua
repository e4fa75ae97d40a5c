-- @include clock
-- @include state
-- The state is the number of hits. The expiry of the key is the end of the window; the first hit of a window sets the expiry.
-- Two marks are numbers, so that INCRBY does not fail on them, and larger than any limit, so that only a request that seems to
-- be over the limit has to look for them:
-- * 2^51 and more: the hits of a window after a reset, plus 2^51. `consume-fixed-window` does not know when a window ends, and
--   leaves these to `consume`, which does. Without this mark, a refund of hits before the reset might take this window for the
--   one before it.
-- * 2^52 and more: blocked until the key expires. `consume` finds the end of the block in the penalty.
local RENEWED, BLOCKED = '2251799813685248', 4503599627370496
local function read_count(rule, key, value)
  local count = tonumber(string.match(value, '^%d+$')) or 0
  local mark = 0
  if count >= BLOCKED then count = 0 end
  if count >= BLOCKED / 2 then count, mark = count - BLOCKED / 2, BLOCKED / 2 end
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
    return count, reset_ms, left_ms, reset_ms, mark + count, ends_ms
  end,
  charge = function(_, key, cost, counter, ends_ms)
    redis.call('SET', key, string.format('%.0f', counter + cost), 'PXAT', ends_ms)
    return ends_ms - now_ms, ends_ms - now_ms
  end,
  refund = function(rule, key, value, cost, charged_until_ms)
    local count, ends_ms, mark = read_count(rule, key, value)
    if count == 0 or ends_ms ~= math.abs(charged_until_ms) then return 0 end
    -- A window after a reset was found by reading: it may be another one than the charged one.
    if charged_until_ms < 0 and mark > 0 then return 0 end
    local given = math.min(cost, count)
    if given == count and mark == 0 then redis.call('DEL', key) else redis.call('DECRBY', key, given) end
    return given
  end,
}
