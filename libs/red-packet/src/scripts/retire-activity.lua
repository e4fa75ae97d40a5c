--[[
retire-activity: note the time at which an activity leaves the list of activities, because Redis has then forgotten it.

KEYS[1]  activities  zset      <prefix>:red-packet:{activities}:activities   activity id -> a time after the end of its retention, ms
KEYS[2]  settled     zset      <prefix>:red-packet:{activities}:settled      activity id -> time at which it leaves the list, ms
ARGV[1]  activityId  str       1 to 128 characters
ARGV[2]  keepMs      int >= 0  how long its keys may still exist, ms

Returns retired
  retired  1 | 0   0: the activity is not in the list

O(log n). TTL: none. Clock: Redis. Replay: harmless, moves the time to a later one.
]]
-- @include clock
-- The activity may have been created again meanwhile. So it stays in the list at least until the time that its creation has noted.
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends then return 0 end
redis.call('ZADD', KEYS[2], string.format('%.0f', math.max(tonumber(ends), now_ms + ARGV[2])), ARGV[1])
return 1
