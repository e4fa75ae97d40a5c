--[[
look: read whether an item counts, and how many do, for a user whose period was full at the last call; changes nothing.

KEYS[1]  items   set  <prefix>:read-reward:{<shard>}:items:<rule>:<user>
ARGV[1]  itemId  str  1 to 256 characters
ARGV[2]  end     str  of the current period, ms since 1970; the items expire with their period

Returns found
  found  int  2 * used + 1 for an item that counts, 2 * used for one that does not; -1 when the user's period does not end
              then, or the items have lost their TTL: `record` decides

O(1). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include number
local known, used = redis.call('SISMEMBER', KEYS[1], ARGV[1]), redis.call('SCARD', KEYS[1])
if redis.call('PEXPIRETIME', KEYS[1]) ~= parse_number(ARGV[2]) then return -1 end
return 2 * used + known
