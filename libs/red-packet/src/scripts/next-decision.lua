--[[
next-decision: return a number for a decision to pause or to resume an activity with several buckets. Later decisions have higher
numbers.

KEYS[1]  meta  hash  <prefix>:red-packet:{<partition>}:meta:<activity>; the root, which has the number of buckets

Returns {decision}
  decision  str   the number; '' if there is no root

O(1). TTL: untouched. Clock: Redis, so that a number is new even if a failover has lost the last ones, unless the clock of the
new master is behind. Replay: returns a higher number.
]]
-- @include clock
local root = redis.call('HMGET', KEYS[1], 'state', 'decision')
if not root[1] then return { '' } end
local decision = string.format('%.0f', math.max(now_us, (root[2] or 0) + 1))
redis.call('HSET', KEYS[1], 'decision', decision)
return { decision }
