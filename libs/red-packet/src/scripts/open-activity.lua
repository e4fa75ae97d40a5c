--[[
open-activity: open a draft whose pool is proven complete, with its outbox and its grants; a root needs no pool.

KEYS[1]  meta    hash      <prefix>:red-packet:{<activity>}:meta
KEYS[2]  pool    list(str) <prefix>:red-packet:{<activity>}:pool
KEYS[3]  grants  hash      <prefix>:red-packet:{<activity>}:grants
KEYS[4]  outbox  stream    <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  group   str       consumer group of the payout workers

Returns {status}
  status  'opened' | 'open' | 'incomplete' | 'missing'   open: by an earlier call, whatever it has become since

O(1). TTL: taken from the draft's keys, and set again when nothing is owed any longer. Clock: none. Replay: finds the activity
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
-- The sums of the pool itself, not those that were counted while it was filled.
local cents = sum_cents(redis.call('LINDEX', KEYS[2], 0), redis.call('LINDEX', KEYS[2], -1))
if cents ~= tonumber(meta[3]) then return { 'incomplete' } end
-- These raise WRONGTYPE before anything is written.
redis.call('HLEN', KEYS[3])
redis.call('XLEN', KEYS[4])
local created = redis.pcall('XGROUP', 'CREATE', KEYS[4], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, '^BUSYGROUP') then return created end
-- No user's id is empty: this field holds the cents granted, so that a grab counts and grants in one command.
redis.call('HSET', KEYS[3], '', '0')
-- What is owed does not expire.
redis.call('PERSIST', KEYS[1])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open')
return { 'opened' }
