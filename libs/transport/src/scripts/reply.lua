--[[
reply: pass a part of a reply to the client that sent the request, if the client listens.

KEYS[1]  replies  name of the sharded channel  <prefix>:transport:{<client>}:replies; there is no such key
ARGV[1]  packet   str  JSON

Returns {listeners}
  listeners  int  number of connections that got the packet

O(1). TTL: nothing is stored. Clock: none. Replay: passes the packet again; the client drops a number that it has.
]]
return { redis.call('SPUBLISH', KEYS[1], ARGV[1]) }
