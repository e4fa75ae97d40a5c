-- @include clock
-- Removes up to 1,000 activities whose keys have expired from the list. KEYS[1]: the list. KEYS[2]: time at which each activity leaves it.
local function prune_list()
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, 1000)) do
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end
