--[[
list-activities: list all activities that Redis has not forgotten, by the end of their retention.

KEYS[1]  activities  zset  <prefix>:red-packet:{activities}:activities   activity id -> a time after the end of its retention, ms
KEYS[2]  settled     zset  <prefix>:red-packet:{activities}:settled      activity id -> time at which it leaves the list, ms

Returns {activityId, ...}
  activityId  str

O(n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include activity-list
prune_list()
return redis.call('ZRANGE', KEYS[1], 0, -1)
