--[[
list-activities: list the activities that Redis may have.

KEYS[1]  index  zset   <prefix>:red-packet:{activities}:index   activity id -> ms of its expiry

Returns {activityId, ...}
  activityId  str

O(n). TTL: untouched. Clock: none. Replay: harmless.
]]
return redis.call('ZRANGE', KEYS[1], 0, -1)
