--[[
index-activity: add an activity to the index, in which payout runs find activities. The activity may be created afterwards.

KEYS[1]  index        zset       <prefix>:red-packet:{activities}:index   activity id -> a time after the end of its retention, ms
ARGV[1]  activityId   str        1 to 128 characters
ARGV[2]  retentionMs  int >= 1   how long Redis keeps the activity after its end, ms
ARGV[3]  fromMs       int >= 0   end of the activity, or its start if it has no end, ms since the epoch; 0 for now

Returns entries
  entries  int   activities in the index

O(log n). TTL: none; unlist-activity removes activities that Redis has forgotten. Clock: Redis. Replay:
changes nothing, or moves this time to a later one.
]]
local time = redis.call('TIME')
local ends = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[3])) + ARGV[2] + 60000
redis.call('ZADD', KEYS[1], 'GT', string.format('%.0f', ends), ARGV[1])
return redis.call('ZCARD', KEYS[1])
