--[[
begin-activity: store the parameters of a bucket (shard of an activity), or of the root, which only has the number of buckets. If they
were stored before, return what is stored.

KEYS[1]   meta         hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]   pool         list(str) <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]   grants       hash      <prefix>:red-packet:{<partition>}:grants:<activity>
ARGV[1]   fingerprint  str       hash of all parameters of the activity
ARGV[2]   totalCents   int       cents of this bucket; at the root, cents of the whole activity
ARGV[3]   packets      int       packets of this bucket; at the root, packets of the whole activity
ARGV[4]   allPackets   int       packets of the whole activity
ARGV[5]   buckets      int >= 1  number of buckets of the activity
ARGV[6]   bucket       int       index of this bucket; -1 for the root of several buckets, which has no pool
ARGV[7]   startsAtMs   int       when grabs begin, ms since the epoch; 0 for at once
ARGV[8]   endsAtMs     int       when grabs end, ms since the epoch; 0 for an hour before expiresAtMs, or half of retentionMs
                                 before it, if that is shorter
ARGV[9]   maxTries     int       grabs without a packet that a user may make; 0 for any number
ARGV[10]  soldOutMs    int       how long a process may remember that the activity is sold out, ms
ARGV[11]  retentionMs  int >= 2  how long Redis keeps the activity after its end; without an end, after grabs begin, ms
ARGV[12]  expiresAtMs  int       for a bucket with a root: end of the retention, as the root has it, ms since the epoch; 0 to
                                 compute it
ARGV[13]  seed         str       32 hex digits; stored only if this call stores the parameters
ARGV[14]  reports      int       1 if refunds must be reported to onClosed before the keys get a TTL | 0
ARGV[15]  encodedId    str       id of the activity, percent-encoded

Returns {status, state, seed, expires, ends}
  status   'begun' | 'found' | 'settled' | 'conflict' | 'orphaned' | 'over'   begun: stored by this call; found: stored before,
           with the same fingerprint; settled: as found, and its keys have a TTL, because it owes nothing; conflict: stored
           before, with another fingerprint; orphaned: not stored, but there is a pool, or there are grants; over: not stored, because
           the end has passed or is not after startsAtMs. If ARGV[12] is given, the end may have passed, but not the retention
  state    'draft' | 'open' | 'paused' | 'closed' | 'spread:<buckets>'
  seed     str   the seed that is stored; '' if nothing is stored
  expires  str   end of the retention, ms since the epoch; '0' if nothing is stored
  ends     str   when grabs end, ms since the epoch; of `over`, when they would end; '0' for `orphaned`

O(1). TTL: a draft expires at expiresAtMs; a root gets no TTL here, because its buckets open before it and must not outlive it.
Clock: Redis. Replay: returns what the first call stored.
]]
-- @include now-text
local known = redis.call('HMGET', KEYS[1], 'state', 'seed', 'fingerprint', 'expiresAtMs', 'endsAtMs', 'forgetAtMs')
if known[1] then
  if known[1] == 'draft' and ARGV[6] ~= '-1' and redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIREAT', KEYS[1], known[4]) end
  local found = known[6] and 'settled' or 'found'
  return { known[3] == ARGV[1] and found or 'conflict', known[1], known[2], known[4], known[5] }
end
if redis.call('EXISTS', KEYS[2]) + redis.call('EXISTS', KEYS[3]) > 0 then
  return { 'orphaned', 'draft', '', '0', '0' }
end
local opens, ends, expires = math.max(tonumber(ARGV[7]), now_ms), tonumber(ARGV[8]), tonumber(ARGV[12])
if expires == 0 then expires = math.max(ends, opens) + ARGV[11] end
-- Without endsAtMs, grabs end before the retention does, so that packets that are left can still be refunded.
if ends == 0 then ends = expires - math.min(3600000, math.floor(ARGV[11] / 2)) end
-- A bucket with a root may be stored after the end, because the root was stored before it. The activity can then be opened, closed and
-- refunded.
local latest = ARGV[12] == '0' and opens or tonumber(ARGV[7])
if ends <= latest or expires <= now_ms then return { 'over', 'draft', '', '0', string.format('%.0f', ends) } end
-- Payout rows of this bucket contain this text, by which they are found: key of the activity, number of buckets, index of this bucket.
local activity = ARGV[15] .. '@' .. string.format('%.0f', expires) .. '/' .. ARGV[5] .. '/' .. ARGV[6]
-- Redis searches a small hash from its start, so the fields that a grab reads come first.
redis.call('HSET', KEYS[1], 'state', 'draft', 'startsAtMs', ARGV[7], 'endsAtMs', string.format('%.0f', ends),
  'maxTries', ARGV[9], 'heldCents', ARGV[2], 'bestCents', 0, 'activity', activity, 'buckets', ARGV[5], 'bucket', ARGV[6],
  'totalCents', ARGV[2], 'packets', ARGV[3], 'allPackets', ARGV[4], 'soldOutMs', ARGV[10],
  'seed', ARGV[13], 'fingerprint', ARGV[1], 'createdAtMs', now_text, 'expiresAtMs', string.format('%.0f', expires),
  'keepMs', math.min(ARGV[11], 86400000))
if ARGV[14] == '1' then redis.call('HSET', KEYS[1], 'reportedPackets', 0) end
if ARGV[6] ~= '-1' then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', expires)) end
return { 'begun', 'draft', ARGV[13], string.format('%.0f', expires), string.format('%.0f', ends) }
