--[[
wake-activities: list activities as woken, for example because packets were won in them, so that payout runs check them soon.

KEYS[1]    woken        zset       <prefix>:red-packet:{activities}:woken   activity id -> score, about the ms at which it was woken
ARGV[1..]  activityIds  list(str)  1 to 1,000 activities

Returns woken
  woken  int   number of activities in the call

Each id gets a higher score than any id before, also if Redis' clock is set back. So a run that remembers the highest score that it
has read misses no id that is still listed. The 10,000 ids with the highest scores are kept.

O(ids * log n). TTL: one day. Clock: Redis. Replay: wakes the activities once more.
]]
-- @include clock
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or '0'
local score = math.max(now_ms, last + 1)
for i, id in ipairs(ARGV) do redis.call('ZADD', KEYS[1], string.format('%.0f', score + i), id) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -10001)
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', now_ms + 86400000))
return #ARGV
