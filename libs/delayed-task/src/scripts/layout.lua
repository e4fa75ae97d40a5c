--[[
layout: store the number of partitions of a queue, unless one is stored already.

KEYS[1]  layout      string(int)  <prefix>:delayed-task:{<queue>}:layout
ARGV[1]  partitions  int >= 1
ARGV[2]  keepMs      int >= 1     how long the number is kept, ms

Returns partitions
  partitions  int  the stored number

O(1). TTL: keepMs, from each call. Clock: none. Replay: returns the same number.
]]
local noted = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if noted then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return tonumber(noted or ARGV[1])
