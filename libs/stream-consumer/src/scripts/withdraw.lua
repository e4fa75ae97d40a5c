--[[
withdraw: delete the note that a group reads a stream.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config
ARGV[1]  group   str

Returns {withdrawn}
  withdrawn  1 | 0  0 if there was no note

O(1). TTL: none, the stream's name owns it. Clock: not read. Replay: finds no note.
]]
return { redis.call('HDEL', KEYS[1], 'group:' .. ARGV[1]) }
