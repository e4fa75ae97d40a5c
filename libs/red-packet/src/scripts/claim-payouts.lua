--[[
claim-payouts: take payout rows for a worker, those of a worker that is dead first, then new ones.

KEYS[1]  outbox   stream        <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  group    str           consumer group of the payout workers
ARGV[2]  worker   str           name of this worker in the group
ARGV[3]  leaseMs  int >= 1      age from which a row that nobody settled may be taken over, ms
ARGV[4]  count    int 1..500    most rows

Returns {entryId, userId, packetId, amountCents, grantedAtMs, ...}
  entryId      str   id of the stream entry, to settle it by
  userId       str   '' where the entry has no such field, as in the fields below
  packetId     str   digits
  amountCents  str   digits
  grantedAtMs  str   digits

O(count). TTL: the activity's. Clock: Redis. Replay: takes further rows; the first ones come back after their lease.
]]
if redis.call('XLEN', KEYS[1]) == 0 then return {} end
local stale = redis.pcall('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], '0-0', 'COUNT', ARGV[4])
if stale.err then
  if not string.find(stale.err, '^NOGROUP') then return stale end
  -- From 0: settled rows are deleted, so what is there is unpaid, or will be recognised as paid by the ledger.
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
  stale = { '0-0', {} }
end
local rows = {}
local function add(entries)
  for _, entry in ipairs(entries) do
    -- By name and never missing: an entry that some other program added must not shift the fields of its neighbours.
    local fields = {}
    for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
    rows[#rows + 1] = entry[1]
    rows[#rows + 1] = fields['user'] or ''
    rows[#rows + 1] = fields['packet'] or ''
    rows[#rows + 1] = fields['cents'] or ''
    rows[#rows + 1] = fields['at'] or ''
  end
end
add(stale[2])
local left = tonumber(ARGV[4]) - #stale[2]
if left > 0 then
  local fresh = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', left, 'STREAMS', KEYS[1], '>')
  if fresh then add(fresh[1][2]) end
end
return rows
