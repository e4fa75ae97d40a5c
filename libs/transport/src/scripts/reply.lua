--[[
reply: publish a part of a reply for the client that made the request. Nothing is stored if the client does not listen.

KEYS[1]  replies  name of the sharded channel  <prefix>:transport:{<client>}:replies; there is no such key
ARGV[1]  packet   str  JSON

Returns {listeners}
  listeners  int  number of connections that got the packet

O(1). TTL: nothing is stored. Clock: none. Replay: publishes the packet again; the client ignores a part that it has already.
]]
return { redis.call('SPUBLISH', KEYS[1], ARGV[1]) }
