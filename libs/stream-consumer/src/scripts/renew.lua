--[[
renew: extend the lease of a process, unless other consumers have taken over its entries.

KEYS[1]  sessions  zset  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:sessions:<group>
ARGV[1]  session   str
ARGV[2]  leaseMs   int >= 1

Returns {alive}
  alive  1 | 0  0 if the process no longer holds its entries

O(log sessions). TTL: none, the group owns it. Clock: Redis. Replay: renews again.
]]
-- @include clock
local till = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not till or till == '0' then return { 0 } end
redis.call('ZADD', KEYS[1], now_ms + ARGV[2], ARGV[1])
return { 1 }
