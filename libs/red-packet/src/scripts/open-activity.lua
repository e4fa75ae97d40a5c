--[[
open-activity: open a draft (an unfinished activity) if its pool is complete. Creates the hash of its grants, and the stream of payouts
unless it exists. The root of an activity with several buckets has no pool, so only its state changes.

KEYS[1]  meta    hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  pool    list(str) <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]  grants  hash      <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[4]  outbox  stream    <prefix>:red-packet:{<partition>}:outbox
ARGV[1]  group   str       consumer group of the payouts

Returns {status}
  status  'opened' | 'open' | 'incomplete' | 'missing'   opened: by this call; open: by an earlier call, also if it is paused or
          closed now; incomplete: not opened, because the number or the sum of the packets in the pool is wrong; missing: there is no
          such bucket

O(1). TTL: removed from the keys of the draft; settle-bucket sets it again. Clock: none. Replay: returns open and changes nothing.
]]
-- @include cents
local meta = redis.call('HMGET', KEYS[1], 'state', 'packets', 'totalCents', 'bucket', 'buckets')
if not meta[1] then return { 'missing' } end
if meta[1] ~= 'draft' then return { 'open' } end
if meta[4] == '-1' then
  redis.call('HSET', KEYS[1], 'state', 'spread:' .. meta[5])
  return { 'opened' }
end
local length = redis.call('LLEN', KEYS[2])
if length ~= tonumber(meta[2]) then return { 'incomplete' } end
local cents = sum_cents(redis.call('LINDEX', KEYS[2], 0), redis.call('LINDEX', KEYS[2], -1))
if cents ~= tonumber(meta[3]) then return { 'incomplete' } end
-- These reads raise an error for a key of a wrong type, before the first write.
redis.call('HLEN', KEYS[3])
redis.call('XLEN', KEYS[4])
local created = redis.pcall('XGROUP', 'CREATE', KEYS[4], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, '^BUSYGROUP') then return created end
-- The field '' has the granted cents and the time of the last grant, so a grab reads them together with the user's grant. No user has the
-- empty id.
redis.call('HSET', KEYS[3], '', '0:0')
-- From now on the activity may owe money, so its keys must not expire.
redis.call('PERSIST', KEYS[1])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open')
return { 'opened' }
