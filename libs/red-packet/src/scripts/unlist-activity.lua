--[[
unlist-activity: remove an activity that Redis has forgotten from the index, unless it was created again meanwhile.

KEYS[1]  index       zset  <prefix>:red-packet:{activities}:index   activity id -> end of its retention, ms
ARGV[1]  activityId  str   1 to 128 characters

Returns dropped
  dropped  1 | 0   0: the activity is not in the index, or its retention is not over

O(log n). TTL: none. Clock: Redis. Replay: returns 0 and changes nothing.
]]
-- @include clock
local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 'inf')
if ends > now_ms then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
