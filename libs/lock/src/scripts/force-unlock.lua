--[[
force-unlock: take a lock from its holder, and raise the fence.

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  retentionMs  int     how long the raised fence is kept

Returns {forced, fence}
  forced  1 | 0  0 when nobody held the lock
  fence   int    the raised fence

O(1). TTL: retentionMs. Clock: Redis. Replay: raises the fence again, and would take the lock from a new holder.
]]
-- @include clock
-- @include record
local raw = redis.call('GET', KEYS[1])
local lock = { till = 0, waits = '0', fence = 0 }
if raw then lock = parse_lock(raw) end
if not lock then return bad_lock() end
local raised = math.max(lock.fence + 1, now_us)
redis.call('SET', KEYS[1], format_lock(0, lock.waits, raised, ''), 'PX', ARGV[1])
redis.call('SPUBLISH', KEYS[1], 'forced')
return { lock.till > now_ms and 1 or 0, raised }
