--[[
read-history: read the counts of a range of minutes of a day.

KEYS[1]  day   string  <prefix>:console:{history}:day:<day>   as in write-history
ARGV[1]  from  int     first byte
ARGV[2]  to    int     last byte

Returns counts
  counts  str  bytes; shorter than asked for if nothing was counted later

O(bytes). TTL: untouched. Clock: not read. Replay: reads again.
]]
return redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
