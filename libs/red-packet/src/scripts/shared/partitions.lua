-- @include activity-list
-- Returns the number of partitions that all processes must use: the stored one in KEYS[3]; `wanted` if none is stored or there are no
-- activities.
local function fix_partitions(wanted)
  prune_list()
  local stored = redis.call('GET', KEYS[3])
  if stored == wanted then return wanted end
  if stored and redis.call('ZCARD', KEYS[1]) > 0 then return stored end
  redis.call('SET', KEYS[3], wanted)
  return wanted
end
