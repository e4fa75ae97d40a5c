--[[
look: read if an item counts already, and how many items count. Used for a user whose period was full at the last call.

KEYS[1]  state    hash  <prefix>:read-reward:{<partition>}:state:<rule>:<user>
ARGV[1]  itemId   str   1 to 256 characters
ARGV[2]  current  str   start and end of the current period, end of the next one (ms since 1970) and points of an item, with a colon
                        after each
ARGV[3]  gap      int   length of the next period, ms

Returns found
  found  int   used * 2 + 1 if the item counts, used * 2 if it does not; used: number of items that count in the period. -1: this
               script cannot decide, so the caller must call record. The user has no state, or the state has no TTL, belongs to
               another period, or has other points per item

O(1). TTL: untouched. Clock: Redis, by the time that is left until the state expires. Replay: reads again.
]]
-- @include last-head
local state = redis.call('HMGET', KEYS[1], '', ARGV[1])
if not state[1] then return -1 end
if state[1] ~= last_head or ARGV[2] ~= last_current then
  local is_current = string.find(state[1], ARGV[2], 1, true) == 1
  local seq, refunds = string.match(state[1], '^0:(%d+):(%d+)$', #ARGV[2] + 1)
  last_head, last_current, last_used = state[1], ARGV[2], is_current and seq and seq - refunds
end
if not last_used or redis.call('PTTL', KEYS[1]) - ARGV[3] <= 0 then return -1 end
return last_used * 2 + (state[2] and 1 or 0)
