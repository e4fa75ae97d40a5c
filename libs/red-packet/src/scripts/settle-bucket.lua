--[[
settle-bucket: set the TTL of all keys of a bucket (shard of an activity), if it owes nothing: no user can win there, all payouts are
settled, no packets move to other buckets, and refunds are reported to onClosed. Until then the keys of an open bucket have no TTL.

KEYS[1]  meta         hash       <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  pool         list(str)  <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]  grants       hash       <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[4]  tries        hash       <prefix>:red-packet:{<partition>}:tries:<activity>
KEYS[5]  moves        hash       <prefix>:red-packet:{<partition>}:moves:<activity>
KEYS[6]  voids        hash       <prefix>:red-packet:{<partition>}:voids:<activity>
KEYS[7]  refunds      list(str)  <prefix>:red-packet:{<partition>}:refunds:<activity>
KEYS[8]  dead         stream     <prefix>:red-packet:{<partition>}:dead:<activity>
ARGV[1]  giveUp       int        1 to set the TTL also if the bucket owes something | 0
ARGV[2]  expiresAtMs  int        expiresAtMs of the activity that the caller has read

Returns {status}
  status  'settled' | 'settled-before' | 'owed' | 'missing'   settled: by this call; owed: no TTL was set, because the bucket owes
          something, or belongs to a later activity with the same id; missing: there is no such bucket, or it is a draft and giveUp
          is 0

O(moves). TTL: set here: until expiresAtMs, but at least for the retention or one day, whichever is shorter. A root is kept at
least one minute longer than its buckets. Clock: Redis. Replay: returns settled-before and changes nothing.
]]
-- @include clock
local meta = redis.call('HMGET', KEYS[1], 'state', 'endsAtMs', 'expiresAtMs', 'forgetAtMs', 'bucket', 'keepMs',
  'refundedPackets', 'reportedPackets', 'grantShift', 'rowShift', 'settledRows')
if not meta[1] then return { 'missing' } end
if meta[3] ~= ARGV[2] then return { 'owed' } end
if meta[1] == 'draft' and ARGV[1] ~= '1' then return { 'missing' } end
if meta[4] then return { 'settled-before' } end
local root = meta[5] == '-1'
local over = root or meta[1] == 'closed' or now_ms >= tonumber(meta[2]) and redis.call('LLEN', KEYS[2]) == 0
-- Each grant has one payout row. So if the numbers of grants and of settled rows differ, payouts are open, or Redis has lost grants. Lost
-- grants do not show if no row was settled.
local granted = math.max(redis.call('HLEN', KEYS[3]) - 1, 0) + (meta[9] or 0)
local owed = not over or granted + (meta[10] or 0) ~= (meta[11] or 0) + 0 or redis.call('XLEN', KEYS[8]) > 0
if meta[8] and tonumber(meta[7] or '0') > tonumber(meta[8]) then owed = true end
for _, field in ipairs(redis.call('HKEYS', KEYS[5])) do owed = owed or string.find(field, '^out:') end
if owed and ARGV[1] ~= '1' then return { 'owed' } end
local at = string.format('%.0f', math.max(tonumber(meta[3]), now_ms + meta[6]) + (root and 60000 or 0))
redis.call('HSET', KEYS[1], 'forgetAtMs', at)
redis.call('PEXPIREAT', KEYS[1], at)
redis.call('PEXPIREAT', KEYS[2], at)
redis.call('PEXPIREAT', KEYS[3], at)
redis.call('PEXPIREAT', KEYS[4], at)
redis.call('PEXPIREAT', KEYS[5], at)
redis.call('PEXPIREAT', KEYS[6], at)
redis.call('PEXPIREAT', KEYS[7], at)
redis.call('PEXPIREAT', KEYS[8], at)
return { 'settled' }
