-- @include clock
-- KEYS[1]: the list of activities. KEYS[2]: when activities leave it.
-- Removes activities that Redis has forgotten from the list, up to 1,000.
local function prune_list()
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, 1000)) do
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end
