--[[
leave: end the lease of a session, so that other consumers can take over its entries at once.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
ARGV[1]  group     str
ARGV[2]  session   str

Returns {left}
  left  int  1 the session is removed | 0 its entries will be taken over

O(1). TTL: none, the group owns its keys. Clock: not read. Replay: harmless, the session has ended already.
]]
-- @include errors
redis.call('HLEN', KEYS[3])
if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then return { 1 } end
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if not failed(held) and #held > 0 then
  redis.call('ZADD', KEYS[2], 0, ARGV[2])
  return { 0 }
end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return { 1 }
