--[[
settle-bucket: set the TTL of all keys of a bucket, if the bucket owes nothing: no user can win there any more, all payouts are
settled, no packets move to other buckets, and refunds are reported to onClosed. Until then the keys of an open bucket have no TTL.

KEYS[1]   meta      hash      <prefix>:red-packet:{<activity>}:meta
KEYS[2]   pool      list(str) <prefix>:red-packet:{<activity>}:pool
KEYS[3]   grants    hash      <prefix>:red-packet:{<activity>}:grants
KEYS[4]   outbox    stream    <prefix>:red-packet:{<activity>}:outbox
KEYS[5]   tries     hash      <prefix>:red-packet:{<activity>}:tries
KEYS[6]   moves     hash      <prefix>:red-packet:{<activity>}:moves
KEYS[7]   voids     hash      <prefix>:red-packet:{<activity>}:voids
KEYS[8]   refunds   list(str) <prefix>:red-packet:{<activity>}:refunds
KEYS[9]   dead      stream    <prefix>:stream-consumer:{<activity>}:dead:payouts:<outbox>
KEYS[10]  sessions  zset      <prefix>:stream-consumer:{<activity>}:sessions:payouts:<outbox>
KEYS[11]  takes     hash      <prefix>:stream-consumer:{<activity>}:takes:payouts:<outbox>
KEYS[12]  due       zset      <prefix>:stream-consumer:{<activity>}:due:payouts:<outbox>
KEYS[13]  attempts  hash      <prefix>:stream-consumer:{<activity>}:tries:payouts:<outbox>
ARGV[1]   giveUp    int       1 to set the TTL also if the bucket owes something | 0

Returns {status}
  status  'settled' | 'settled-before' | 'owed' | 'missing'   settled: by this call; owed: no TTL was set; missing: there is no
          such bucket, or it is a draft and giveUp is 0

O(moves). TTL: set here: until expiresAtMs, but at least for the retention or one day, whichever is shorter. A root is kept at
least one minute longer than its buckets. Clock: Redis. Replay: returns settled-before and changes nothing.
]]
-- @include clock
local meta = redis.call('HMGET', KEYS[1], 'state', 'endsAtMs', 'expiresAtMs', 'forgetAtMs', 'bucket', 'keepMs',
  'refundedPackets', 'reportedPackets')
if not meta[1] or meta[1] == 'draft' and ARGV[1] ~= '1' then return { 'missing' } end
if meta[4] then return { 'settled-before' } end
local root = meta[5] == '-1'
local over = root or meta[1] == 'closed' or now_ms >= tonumber(meta[2]) and redis.call('LLEN', KEYS[2]) == 0
local owed = not over or redis.call('XLEN', KEYS[4]) + redis.call('XLEN', KEYS[9]) > 0
if meta[8] and tonumber(meta[7] or '0') > tonumber(meta[8]) then owed = true end
for _, field in ipairs(redis.call('HKEYS', KEYS[6])) do owed = owed or string.find(field, '^out:') end
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
redis.call('PEXPIREAT', KEYS[9], at)
redis.call('PEXPIREAT', KEYS[10], at)
redis.call('PEXPIREAT', KEYS[11], at)
redis.call('PEXPIREAT', KEYS[12], at)
redis.call('PEXPIREAT', KEYS[13], at)
return { 'settled' }
