--[[
list-activities: name the activities that Redis may still hold, and forget those that have expired.

KEYS[1]  index  zset   <prefix>:red-packet:{activities}:index   activity id -> ms of its end

Returns {activityId, ...}
  activityId  str

O(n). TTL: that of the activity that lives longest, and a minute. Clock: Redis. Replay: harmless.
]]
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return redis.call('ZRANGE', KEYS[1], 0, -1)
