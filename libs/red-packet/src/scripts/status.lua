--[[
status: read a bucket (shard of an activity) at one instant. If it is a draft, or is settled (its keys expire), set the TTL of its
eight keys where it is missing. The root of a draft gets no TTL.

KEYS[1]  meta     hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  pool     list(str) <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]  grants   hash      <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[4]  tries    hash      <prefix>:red-packet:{<partition>}:tries:<activity>
KEYS[5]  moves    hash      <prefix>:red-packet:{<partition>}:moves:<activity>
KEYS[6]  voids    hash      <prefix>:red-packet:{<partition>}:voids:<activity>
KEYS[7]  refunds  list(str) <prefix>:red-packet:{<partition>}:refunds:<activity>
KEYS[8]  dead     stream    <prefix>:red-packet:{<partition>}:dead:<activity>

Returns {state, fields, pooled, pooledCents, granted, grantedCents, rows, refundRecords, outgoing, lastGrant, dead, overdue, unreported}
  state          'draft' | 'preheated' | 'open' | 'paused' | 'ended' | 'closed' | 'spread:<buckets>' | ''   '' if there is
                 no bucket
  fields         str   numbers of the meta hash, separated by commas, in the order in which this script reads them
  pooled         int   packets in the pool
  pooledCents    str   cents in the pool, from its first and last entry; '-1' if one of them is invalid
  granted        int   packets granted
  grantedCents   str   cents granted; '-1' if the grants are lost
  rows           int   payouts that are neither settled nor dead-lettered, computed from counters
  refundRecords  int   packets in the list of refunds
  outgoing       str   indexes of the buckets to which packets are moving, separated by commas
  lastGrant      str   when the last packet was granted, ms since the epoch; '0' before the first grant; '' if there is no hash of grants
  dead           int   dead-lettered payouts
  overdue        0 | 1   1 if expiresAtMs has passed
  unreported     int   refunded packets that are not reported to onClosed yet; 0 if the activity was created without onClosed

O(1); after transfers between buckets, O(buckets). TTL: repaired, see above. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include cents
local meta = redis.call('HMGET', KEYS[1], 'state', 'expiresAtMs', 'startsAtMs', 'endsAtMs', 'grantShift', 'forgetAtMs', 'bucket',
  'reportedPackets', 'rowShift', 'settledRows')
local fields = redis.call('HMGET', KEYS[1], 'createdAtMs', 'startsAtMs', 'endsAtMs', 'expiresAtMs', 'buckets', 'totalCents',
  'packets', 'allPackets', 'heldCents', 'refundedPackets', 'refundedCents', 'sentPackets', 'sentCents',
  'receivedPackets', 'receivedCents', 'soldOutMs', 'closedAtMs', 'forgetAtMs', 'compared')
for i = 1, 19 do fields[i] = fields[i] or '0' end
if not meta[1] then return { '', table.concat(fields, ','), 0, '0', 0, '0', 0, 0, '', '', 0, 0, 0 } end
local state = meta[1]
if state == 'open' and now_ms < tonumber(meta[3]) then state = 'preheated' end
if (state == 'open' or state == 'paused') and now_ms >= tonumber(meta[4]) then state = 'ended' end
local pooled, cents = redis.call('LLEN', KEYS[2]), 0
if pooled > 0 then cents = sum_cents(redis.call('LINDEX', KEYS[2], 0), redis.call('LINDEX', KEYS[2], -1)) or -1 end
-- The field with the sum of cents is not a grant. grantShift corrects for grants that void-grant has removed or copied, and for packets
-- that compare-refunds counts as granted although no user has them.
local granted = math.max(redis.call('HLEN', KEYS[3]) - 1, 0) + (meta[5] or 0)
local granted_cents, last = string.match(redis.call('HGET', KEYS[3], '') or '', '^(%d+):(%d+)$')
granted_cents = granted_cents or (state == 'draft' or state:find('^spread')) and '0' or '-1'
local dead = redis.call('XLEN', KEYS[8])
local rows = granted + (meta[9] or 0) - (meta[10] or 0) - dead
local outgoing = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[5])) do outgoing[#outgoing + 1] = string.match(field, '^out:(%d+)$') end
local unreported = meta[8] and math.max(fields[10] - meta[8], 0) or 0
-- `forget` is the time at which the keys expire. A settled bucket has it in forgetAtMs (meta[6]). A draft expires when its retention ends,
-- at expiresAtMs (meta[2]). Other buckets do not expire, nor does the root of a draft, whose bucket index (meta[7]) is -1.
local forget = meta[6] or meta[1] == 'draft' and meta[7] ~= '-1' and meta[2]
local function heal(key)
  if forget and redis.call('PTTL', key) == -1 then redis.call('PEXPIREAT', key, forget) end
end
heal(KEYS[1])
heal(KEYS[2])
heal(KEYS[3])
heal(KEYS[4])
heal(KEYS[5])
heal(KEYS[6])
heal(KEYS[7])
heal(KEYS[8])
return { state, table.concat(fields, ','), pooled, format_number(cents), granted, granted_cents, rows, redis.call('LLEN', KEYS[7]),
  table.concat(outgoing, ','), last or '', dead, now_ms < tonumber(meta[2]) and 0 or 1, unreported }
