--[[
index-activity: note that an activity may exist, so that payout workers find it.

KEYS[1]  index        zset       <prefix>:red-packet:{activities}:index   activity id -> ms of its end
ARGV[1]  activityId   str        1 to 128 characters
ARGV[2]  retentionMs  int >= 1   how long Redis keeps the activity after that, ms
ARGV[3]  fromMs       int >= 0   its end, or when it opens where it has none, ms since the epoch; 0 for now

Returns entries
  entries  int   activities in the index

O(log n). TTL: that of the activity that lives longest, and a minute. Clock: Redis. Replay: harmless.
]]
local time = redis.call('TIME')
local ends = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[3])) + ARGV[2] + 60000
redis.call('ZADD', KEYS[1], 'GT', string.format('%.0f', ends), ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last[2]))
return redis.call('ZCARD', KEYS[1])
