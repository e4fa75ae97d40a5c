-- Returns how many tasks may start in this window, how many have started, and how long it lasts, ms.
-- `starts`: key with their number. `most`: 0 for any number.
local function starts_of(starts, most, window_ms)
  if most == 0 then return math.huge, 0, 0 end
  local text, ttl = redis.call('GET', starts), redis.call('PTTL', starts)
  -- A window without an end, such as one that somebody wrote, has ended.
  if ttl <= 0 then return most, 0, window_ms end
  local started = tonumber(text) or most
  return math.max(0, most - started), started, math.min(ttl, window_ms)
end
