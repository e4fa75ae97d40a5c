--[[
add-activity: add an activity, which need not exist yet, to the list of activities. Does nothing if another number of partitions (hash tags
over which activities are sharded) is stored, because then other processes would not find the activity.

KEYS[1]  activities   zset        <prefix>:red-packet:{activities}:activities   activity id -> a time after the end of its retention, ms
KEYS[2]  settled      zset        <prefix>:red-packet:{activities}:settled      activity id -> time at which it leaves the list, ms
KEYS[3]  partitions   string(int) <prefix>:red-packet:{activities}:partitions
ARGV[1]  activityId   str         1 to 128 characters
ARGV[2]  partitions   int >= 1    number of partitions of the caller
ARGV[3]  retentionMs  int >= 1    how long Redis keeps the activity after its end, ms
ARGV[4]  fromMs       int >= 0    end of the activity, or its start if it has no end, ms since the epoch; 0 for now

Returns partitions
  partitions  str   the number that is stored; if it is not ARGV[2], the activity was not added

O(log n). TTL: none; activities leave the list when Redis has forgotten them. Clock: Redis. Replay: changes nothing, or moves the
time to a later one.
]]
-- @include partitions
local stored = fix_partitions(ARGV[2])
if stored ~= ARGV[2] then return stored end
local ends = math.max(now_ms, tonumber(ARGV[4])) + ARGV[3] + 60000
redis.call('ZADD', KEYS[1], 'GT', string.format('%.0f', ends), ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return stored
