--[[
list-activities: list all activities in the index. Redis may have forgotten some of them.

KEYS[1]  index  zset   <prefix>:red-packet:{activities}:index   activity id -> a time after the end of its retention, ms

Returns {activityId, ...}
  activityId  str

O(n). TTL: untouched. Clock: none. Replay: reads again.
]]
return redis.call('ZRANGE', KEYS[1], 0, -1)
