--[[
status: read the owner, the fence and the end of the lease of a lock.

KEYS[1]  lock  string  <prefix>:lock:{<name>}:lock

Returns {held, fence, till, owner}
  held   1 | 0  0 if the lock is free
  fence  int   the last fence; 0 if Redis does not know the name
  till   int   when the lease ends, ms since 1970; 0 if the lock is free
  owner  str   token of the owner; '' if the lock is free

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
