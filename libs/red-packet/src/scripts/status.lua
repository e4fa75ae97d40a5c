--[[
status: read an activity at one instant, and give a key that lost its TTL the activity's again.

KEYS[1]  meta    hash      <prefix>:red-packet:{<activity>}:meta
KEYS[2]  pool    list(str) <prefix>:red-packet:{<activity>}:pool
KEYS[3]  grants  hash      <prefix>:red-packet:{<activity>}:grants
KEYS[4]  outbox  stream    <prefix>:red-packet:{<activity>}:outbox

Returns {state, totalCents, packets, pooled, granted, grantedCents, outboxLength, createdAtMs, expiresAtMs}
  state         'draft' | 'open' | ''   '' when there is no such activity
  totalCents    str   digits
  packets       str   digits
  pooled        int   packets in the pool
  granted       int   users with a packet
  grantedCents  str   digits
  outboxLength  int   payout rows not settled yet
  createdAtMs   str   digits
  expiresAtMs   str   digits

O(1). TTL: heals. Clock: none. Replay: harmless.
]]
local meta = redis.call('HMGET', KEYS[1], 'state', 'totalCents', 'packets', 'grantedCents', 'createdAtMs', 'expiresAtMs')
if not meta[1] then return { '', '0', '0', 0, 0, '0', 0, '0', '0' } end
local pooled = redis.call('LLEN', KEYS[2])
local fields = redis.call('HLEN', KEYS[3])
local rows = redis.call('XLEN', KEYS[4])
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIREAT', KEYS[1], meta[6]) end
if redis.call('PTTL', KEYS[2]) == -1 then redis.call('PEXPIREAT', KEYS[2], meta[6]) end
if redis.call('PTTL', KEYS[3]) == -1 then redis.call('PEXPIREAT', KEYS[3], meta[6]) end
if redis.call('PTTL', KEYS[4]) == -1 then redis.call('PEXPIREAT', KEYS[4], meta[6]) end
-- One field of the hash is there to keep it alive.
return { meta[1], meta[2], meta[3], pooled, math.max(fields - 1, 0), meta[4], rows, meta[5], meta[6] }
