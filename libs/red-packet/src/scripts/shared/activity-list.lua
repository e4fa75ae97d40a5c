-- @include clock
-- Removes from the list of activities, KEYS[1], up to 1,000 activities whose keys have expired. KEYS[2] has the time at which each activity
-- leaves the list.
local function prune_list()
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, 1000)) do
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end
