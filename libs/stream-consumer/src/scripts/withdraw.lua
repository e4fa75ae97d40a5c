--[[
withdraw: delete the name of a group from the config of a stream, and whether it is paused.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config
ARGV[1]  group   str

Returns {withdrawn}
  withdrawn  1 | 0  0 if the config did not have the name

O(1). TTL: none, the stream's name owns it. Clock: not read. Replay: returns 0, the name is deleted already.
]]
redis.call('HDEL', KEYS[1], 'paused:' .. ARGV[1])
return { redis.call('HDEL', KEYS[1], 'group:' .. ARGV[1]) }
