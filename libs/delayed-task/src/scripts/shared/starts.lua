-- Reads the rate limit of a queue. Returns how many tasks may still start in this window, how many have started in it, and the rest of the
-- window, ms. `starts`: key with the number of started tasks. `most`: maximum number; 0 for any number.
local function starts_of(starts, most, window_ms)
  if most == 0 then return math.huge, 0, 0 end
  local text, ttl = redis.call('GET', starts), redis.call('PTTL', starts)
  -- A key without a TTL, such as one that someone wrote by hand, would be a window that never ends. It counts as ended.
  if ttl <= 0 then return most, 0, window_ms end
  local started = tonumber(text) or most
  return math.max(0, most - started), started, math.min(ttl, window_ms)
end
