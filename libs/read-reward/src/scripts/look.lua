--[[
look: read if an item counts and how many items count, for a user whose period was full at the last call. Changes nothing.

KEYS[1]  state    hash  <prefix>:read-reward:{<shard>}:state:<rule>:<user>
ARGV[1]  itemId   str   1 to 256 characters
ARGV[2]  current  str   the same as in `record`
ARGV[3]  gap      int   the same as in `record`

Returns found
  found  int  2 * used + 1 for an item that counts, 2 * used for an item that does not; -1 when this script cannot decide, and the
              caller must use `record`: the user has no state of the current period, or it has no TTL

O(1). TTL: untouched. Clock: Redis, by the time that is left until the state expires. Replay: reads again.
]]
local state = redis.call('HMGET', KEYS[1], '', ARGV[1])
local head = state[1]
if not head or string.find(head, ARGV[2], 1, true) ~= 1 then return -1 end
if redis.call('PTTL', KEYS[1]) - ARGV[3] <= 0 then return -1 end
local seq, refunds = string.match(head, '^-?%d+:(%d+):(%d+)$', #ARGV[2] + 1)
return 2 * (seq - refunds) + (state[2] and 1 or 0)
