--[[
fix-partitions: store the number of partitions (hash tags over which activities are sharded), or return the number that is stored. The
number can change only while there are no activities.

KEYS[1]  activities  zset        <prefix>:red-packet:{activities}:activities   activity id -> a time after the end of its retention, ms
KEYS[2]  settled     zset        <prefix>:red-packet:{activities}:settled      activity id -> time at which it leaves the list, ms
KEYS[3]  partitions  string(int) <prefix>:red-packet:{activities}:partitions
ARGV[1]  partitions  int >= 1

Returns partitions
  partitions  str   the number that is stored now

O(log n). TTL: none. Clock: Redis. Replay: returns the same number.
]]
-- @include partitions
return fix_partitions(ARGV[1])
