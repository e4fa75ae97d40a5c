--[[
renew: restart the lease of an owner, unless the lease has ended.

KEYS[1]  lock     string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner    str     token of the acquisition
ARGV[2]  leaseMs  int     1 or more, from now
ARGV[3]  ttlMs    int     leaseMs plus the time for which the fence is kept after the lease

Returns held
  held  1 | 0  0 if the lease has ended, another owner has the lock, or Redis has no such key

O(1). TTL: ttlMs. Clock: Redis. Replay: renews again.
]]
-- @include clock
-- @include record
local raw = redis.call('GET', KEYS[1])
if not raw then return 0 end
local lock = parse_lock(raw)
if not lock then return bad_lock() end
if lock.owner ~= ARGV[1] or lock.till <= now_ms then return 0 end
redis.call('SET', KEYS[1], format_lock(now_ms + ARGV[2], lock.waits, lock.fence, ARGV[1]), 'PX', ARGV[3])
return 1
