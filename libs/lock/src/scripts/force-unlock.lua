--[[
force-unlock: take a lock from its holder, and raise its fence (fencing token).

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock; waiting processes listen to a channel of the same name
ARGV[1]  retentionMs  int     how long the raised fence is kept
ARGV[2]  expected     int     fence of the holder from which the lock is taken; 0: any holder

Returns {forced, fence}
  forced  1 | 0  0 if nobody held the lock, or the holder has another fence than expected
  fence   int    the raised fence; the unchanged last fence if no holder has the expected fence

O(1). TTL: retentionMs. Clock: Redis. Replay: without an expected fence, takes the lock from a new holder, too, and raises
the fence again; with one, changes nothing.
]]
-- @include clock
-- @include record
local raw = redis.call('GET', KEYS[1])
local lock = { till = 0, waits = '0', fence = 0 }
if raw then lock = parse_lock(raw) end
if not lock then return bad_lock() end
if ARGV[2] ~= '0' and (lock.fence ~= tonumber(ARGV[2]) or lock.till <= now_ms) then return { 0, lock.fence } end
local raised = math.max(lock.fence + 1, now_us)
redis.call('SET', KEYS[1], format_lock(0, lock.waits, raised, ''), 'PX', ARGV[1])
redis.call('SPUBLISH', KEYS[1], 'forced')
return { lock.till > now_ms and 1 or 0, raised }
