--[[
unlist-activity: remove an activity that Redis has forgotten from the index. Before its time in the index, do nothing, because it
may have been created again.

KEYS[1]  index       zset  <prefix>:red-packet:{activities}:index   activity id -> a time after the end of its retention, ms
ARGV[1]  activityId  str   1 to 128 characters

Returns dropped
  dropped  1 | 0   0: the activity is not in the index, or its time has not passed

O(log n). TTL: none. Clock: Redis. Replay: returns 0 and changes nothing.
]]
-- @include clock
local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 'inf')
if ends > now_ms then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
