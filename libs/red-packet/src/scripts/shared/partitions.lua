-- @include activity-list
-- Returns the number of partitions (hash tags over which activities are sharded) that all processes must use. KEYS[3] has this number. If
-- KEYS[3] is missing, or there are no activities, stores and returns `wanted`.
local function fix_partitions(wanted)
  prune_list()
  local stored = redis.call('GET', KEYS[3])
  if stored == wanted then return wanted end
  if stored and redis.call('ZCARD', KEYS[1]) > 0 then return stored end
  redis.call('SET', KEYS[3], wanted)
  return wanted
end
