--[[
open-activity: open a draft whose pool is proven complete, with its outbox and its grants; a root needs no pool.

KEYS[1]  meta    hash      <prefix>:red-packet:{<activity>}:meta
KEYS[2]  pool    list(str) <prefix>:red-packet:{<activity>}:pool
KEYS[3]  grants  hash      <prefix>:red-packet:{<activity>}:grants
KEYS[4]  outbox  stream    <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  group   str       consumer group of the payout workers

Returns {status}
  status  'opened' | 'open' | 'incomplete' | 'missing'   open: an earlier call opened it, whatever its state is now

O(1). TTL: removed from the draft's keys; settle-bucket sets it again. Clock: none. Replay: finds the activity
open.
]]
-- @include cents
local meta = redis.call('HMGET', KEYS[1], 'state', 'packets', 'totalCents', 'filledCents', 'bucket', 'buckets')
if not meta[1] then return { 'missing' } end
if meta[1] ~= 'draft' then return { 'open' } end
if meta[5] == '-1' then
  redis.call('HSET', KEYS[1], 'state', 'spread:' .. meta[6])
  return { 'opened' }
end
local length = redis.call('LLEN', KEYS[2])
if length ~= tonumber(meta[2]) or meta[3] ~= meta[4] then return { 'incomplete' } end
-- The sum of the pool's entries, not the counter of the calls that filled it.
local cents = sum_cents(redis.call('LINDEX', KEYS[2], 0), redis.call('LINDEX', KEYS[2], -1))
if cents ~= tonumber(meta[3]) then return { 'incomplete' } end
-- These raise WRONGTYPE before the first write.
redis.call('HLEN', KEYS[3])
redis.call('XLEN', KEYS[4])
local created = redis.pcall('XGROUP', 'CREATE', KEYS[4], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, '^BUSYGROUP') then return created end
-- The field with the empty name holds the cents granted, so a grab counts and grants in one hash. User ids are never empty.
redis.call('HSET', KEYS[3], '', '0')
-- What is owed does not expire.
redis.call('PERSIST', KEYS[1])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open')
return { 'opened' }
