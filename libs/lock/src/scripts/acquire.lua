--[[
acquire: take a lock that nobody holds, or find that this owner has it already.

KEYS[1]  lock     string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner    str     token of one acquisition, no two of a name alike
ARGV[2]  leaseMs  int     1 or more
ARGV[3]  ttlMs    int     the lease, and how long the fence is kept beyond it
ARGV[4]  waits    int     1 asks the next release to publish | 0

Returns {fence, leftMs}
  fence   int  of this acquisition, or of the holder's
  leftMs  int  0 when the lock is this owner's; else what is left of the other's lease

O(1). TTL: ttlMs. Clock: Redis. Replay: answers the fence of the first call while its lease lasts.
]]
if ARGV[1] ~= fresh_owner or ARGV[2] ~= fresh_lease then
  fresh_owner, fresh_lease = ARGV[1], ARGV[2]
  -- As `value_of` would have it.
  fresh = now_ms + fresh_lease .. '0' .. time[1] .. string.sub('00000' .. time[2], -6) .. fresh_owner
end
local raw = redis.call('SET', KEYS[1], fresh, 'PX', ARGV[3], 'NX', 'GET')
if not raw then return { now_us, 0 } end
local lock = record_of(raw)
if not lock then return no_lock() end
if lock.till > now_ms then
  if lock.owner == ARGV[1] then return { lock.fence, 0 } end
  if ARGV[4] == '1' and lock.waits == '0' then redis.call('SETRANGE', KEYS[1], '13', '1') end
  return { lock.fence, lock.till - now_ms }
end
local fence = math.max(lock.fence + 1, now_us)
redis.call('SET', KEYS[1], value_of(now_ms + ARGV[2], '0', fence, ARGV[1]), 'PX', ARGV[3])
return { fence, 0 }
