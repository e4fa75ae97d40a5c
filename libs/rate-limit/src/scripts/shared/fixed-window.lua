-- @include clock
-- @include state
-- The state of a fixed window is its number of hits. The key expires at the end of the window, which begins with its first hit. Two marks
-- are numbers, so that INCRBY works on them. They are larger than any limit, so only a request over the limit must look for them:
-- * from 2^51 on: hits of a window after a reset, plus 2^51. The script consume-fixed-window does not know when a window ends, and leaves
--   these hits to the script consume, which knows it. Without this mark, a refund of hits from before the reset could hit the new window.
-- * from 2^52 on: the subject is blocked until the key expires. The script consume reads the end of the block from the penalty.
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
    -- A negative end was read after the hits were counted. If a reset came in between, the window is a later one, without these hits.
    if charged_until_ms < 0 and mark > 0 then return 0 end
    local given = math.min(cost, count)
    if given == count and mark == 0 then redis.call('DEL', key) else redis.call('DECRBY', key, given) end
    return given
  end,
}
