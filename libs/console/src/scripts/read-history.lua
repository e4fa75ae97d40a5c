--[[
read-history: read the counts of some minutes of a day.

KEYS[1]  day   string  <prefix>:console:{history}:day:<day>   as in write-history
ARGV[1]  from  int     first byte
ARGV[2]  to    int     last byte

Returns counts
  counts  str  the bytes from..to, 4 for each number; fewer if the end of the range was never counted

O(bytes). TTL: untouched. Clock: not read. Replay: reads again.
]]
return redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
