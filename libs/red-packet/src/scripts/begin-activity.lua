--[[
begin-activity: record an activity's figures and the seed of its split, or find those that are there.

KEYS[1]  meta         hash            <prefix>:red-packet:{<activity>}:meta
KEYS[2]  pool         list(str)       <prefix>:red-packet:{<activity>}:pool
KEYS[3]  grants       hash            <prefix>:red-packet:{<activity>}:grants
KEYS[4]  outbox       stream          <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  totalCents   int >= 1        money to hand out, cents
ARGV[2]  packets      int >= 1        number of packets
ARGV[3]  minCents     int >= 1        smallest packet, cents
ARGV[4]  maxCents     int >= 1        largest packet, cents
ARGV[5]  retentionMs  int >= 1        how long Redis keeps the activity, ms
ARGV[6]  seed         str             32 hex digits; kept only by the call that begins

Returns {status, state, seed}
  status  'begun' | 'found' | 'conflict' | 'orphaned'   conflict: the id exists with other figures;
          orphaned: its figures are gone, and other keys of it are there
  state   'draft' | 'open'
  seed    str   the seed to split by, this call's or the first one's

O(1). TTL: set with the first write. Clock: Redis. Replay: finds the first call's figures.
]]
local known = redis.call('HMGET', KEYS[1], 'totalCents', 'packets', 'minCents', 'maxCents', 'state', 'seed')
if known[5] then
  local equal = known[1] == ARGV[1] and known[2] == ARGV[2] and known[3] == ARGV[3] and known[4] == ARGV[4]
  if redis.call('PTTL', KEYS[1]) == -1 then
    redis.call('PEXPIREAT', KEYS[1], redis.call('HGET', KEYS[1], 'expiresAtMs'))
  end
  return { equal and 'found' or 'conflict', known[5], known[6] }
end
if redis.call('EXISTS', KEYS[2]) + redis.call('EXISTS', KEYS[3]) + redis.call('EXISTS', KEYS[4]) > 0 then
  return { 'orphaned', 'draft', '' }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = string.format('%.0f', now + ARGV[5])
redis.call('HSET', KEYS[1], 'totalCents', ARGV[1], 'packets', ARGV[2], 'minCents', ARGV[3], 'maxCents', ARGV[4],
  'state', 'draft', 'seed', ARGV[6], 'filledCents', 0, 'grantedCents', 0,
  'createdAtMs', string.format('%.0f', now), 'expiresAtMs', expires)
redis.call('PEXPIREAT', KEYS[1], expires)
return { 'begun', 'draft', ARGV[6] }
