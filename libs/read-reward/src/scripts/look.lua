--[[
look: read if an item counts and how many items count, for a user whose period was full at the last call. Changes nothing.

KEYS[1]  items   set  <prefix>:read-reward:{<shard>}:items:<rule>:<user>
ARGV[1]  itemId  str  1 to 256 characters
ARGV[2]  end     str  end of the current period, ms since 1970; a set of items expires at the end of its period

Returns found
  found  int  2 * used + 1 for an item that counts, 2 * used for an item that does not; -1 when the set does not expire at
              `end`, so this script cannot decide, and the caller must use `record`

O(1). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include number
local known, used = redis.call('SISMEMBER', KEYS[1], ARGV[1]), redis.call('SCARD', KEYS[1])
if redis.call('PEXPIRETIME', KEYS[1]) ~= parse_number(ARGV[2]) then return -1 end
return 2 * used + known
