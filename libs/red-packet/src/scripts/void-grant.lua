--[[
void-grant: void a grant that the ledger refused to pay, because it had paid the packet or the user before.

KEYS[1]  meta      hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  grants    hash      <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[3]  voids     hash      <prefix>:red-packet:{<partition>}:voids:<activity>
KEYS[4]  refunds   list(str) <prefix>:red-packet:{<partition>}:refunds:<activity>
ARGV[1]  userId    str       user whose grant is voided
ARGV[2]  packetId  str       digits; packet of the grant
ARGV[3]  paid      str       '<packet>:<cents>:<ms>' that the ledger had paid to this user; '' if it had paid packetId to another user
ARGV[4]  owner     str       field `activity` of the payout row of the grant; '' if the caller does not know it

Returns {status}
  status  'void' | 'void-before' | 'none' | 'gone'   void: by this call; none: nothing was changed, because this user has no such
          grant; gone: nothing was changed, because Redis has forgotten the activity of the row

O(1). TTL: if the activity is settled, that of its other keys. Clock: none. Replay: changes nothing; returns void-before, or
none if the packet was voided for another user since.
]]
if ARGV[4] ~= '' and redis.call('HGET', KEYS[1], 'activity') ~= ARGV[4] then return { 'gone' } end
local known = redis.call('HGET', KEYS[3], ARGV[2])
if known and string.match(known, '^%d+:%d+:%a+:(.*)$') == ARGV[1] then return { 'void-before' } end
local grant = redis.call('HGET', KEYS[2], ARGV[1])
local id, cents, at = string.match(grant or '', '^(%d+):(%d+):(%d+)$')
if id ~= ARGV[2] or ARGV[1] == '' then return { 'none' } end
local meta = redis.call('HMGET', KEYS[1], 'expiresAtMs', 'bestUser', 'forgetAtMs', 'bestCents')
local sum, last_ms = string.match(redis.call('HGET', KEYS[2], '') or '', '^(%d+):(%d+)$')
local granted = tonumber(sum or '-1')
if not meta[1] or granted < tonumber(cents) then
  return redis.error_reply('BADMETA the meta hash is lost, or its cents granted are fewer than those of this packet; nothing was changed')
end
if ARGV[3] ~= '' and not string.find(ARGV[3], '^%d+:%d+:%d+$') then
  return redis.error_reply('BADGRANT ARGV[3] is neither empty nor <packet>:<cents>:<ms>, nothing was changed')
end
-- The stored largest packet may be wrong after this call: if it was this user's, or if the packet that the ledger has paid, which replaces
-- the grant, is at least as large.
local copied = tonumber(string.match(ARGV[3], '^%d+:(%d+)') or '0')
local loses_best = meta[2] == ARGV[1] or (meta[4] and copied >= tonumber(meta[4]))
redis.call('LLEN', KEYS[4])
local reason = ARGV[3] == '' and 'packet' or 'user'
redis.call('HSET', KEYS[3], ARGV[2], cents .. ':' .. at .. ':' .. reason .. ':' .. ARGV[1])
if meta[3] then redis.call('PEXPIREAT', KEYS[3], meta[3]) end
if loses_best then redis.call('HSET', KEYS[1], 'bestLost', 1) end
if reason == 'packet' then
  -- The ledger has paid the packet to another user, so its cents stay granted. This user may grab again.
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'grantShift', 1)
else
  -- The ledger has paid this packet to no user, so it is refunded. It cannot go back to the pool, because users may have been refused as
  -- sold out.
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3] .. ':l', '', string.format('%.0f:', granted - cents) .. last_ms)
  redis.call('HINCRBY', KEYS[1], 'grantShift', -1)
  -- The payout row stays although the grant is gone, so the number of expected rows is corrected.
  redis.call('HINCRBY', KEYS[1], 'rowShift', 1)
  redis.call('HINCRBY', KEYS[1], 'refundedCents', cents)
  redis.call('HINCRBY', KEYS[1], 'refundedPackets', 1)
  redis.call('RPUSH', KEYS[4], ARGV[2] .. ':' .. cents .. ':0')
  if meta[3] then redis.call('PEXPIREAT', KEYS[4], meta[3]) end
end
return { 'void' }
