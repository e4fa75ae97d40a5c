--[[
status: read the holder of a lock.

KEYS[1]  lock  string  <prefix>:lock:{<name>}:lock

Returns {held, fence, till, owner}
  held   1 | 0  0 when free
  fence  int   the last one; 0 when no fence is known
  till   int   ms since the epoch; 0 when free
  owner  str   '' when free

O(1). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include record
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0, 0, 0, '' } end
local lock = parse_lock(raw)
if not lock then return bad_lock() end
if lock.till <= now_ms then return { 0, lock.fence, 0, '' } end
return { 1, lock.fence, lock.till, lock.owner }
