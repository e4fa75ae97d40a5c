--[[
withdraw: delete a group and its pause from the config of a stream.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config
ARGV[1]  group   str

Returns {withdrawn}
  withdrawn  1 | 0  0 if the config did not have the group

O(1). TTL: none, it belongs to the stream. Clock: not read. Replay: returns 0, because the group is deleted already.
]]
redis.call('HDEL', KEYS[1], 'paused:' .. ARGV[1])
return { redis.call('HDEL', KEYS[1], 'group:' .. ARGV[1]) }
