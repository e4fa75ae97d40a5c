--[[
announce: say how many partitions a stream has, and learn how many it ever had.

KEYS[1]  config      hash  <prefix>:stream-consumer:{<stream>}:config
ARGV[1]  partitions  int >= 1

Returns {partitions}
  partitions  int  the most that anybody has announced

O(1). TTL: none, the stream's name owns it. Clock: not read. Replay: announces the same.
]]
local most = math.max(tonumber(ARGV[1]), tonumber(redis.call('HGET', KEYS[1], 'partitions') or '0') or 0)
redis.call('HSET', KEYS[1], 'partitions', most)
return { most }
