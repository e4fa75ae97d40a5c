--[[
grab: hand the first packet of the pool to a user who has none, with its payout row.

KEYS[1]  meta    hash      <prefix>:red-packet:{<activity>}:meta
KEYS[2]  pool    list(str) <prefix>:red-packet:{<activity>}:pool
KEYS[3]  grants  hash      <prefix>:red-packet:{<activity>}:grants
KEYS[4]  outbox  stream    <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  userId  str       1 to 256 characters

Returns {code, packetId, amountCents, grantedAtMs}
  code         0 won now | 1 won before | -1 none left | -2 not open
  packetId     str   '' without a packet
  amountCents  str   digits, '0' without a packet
  grantedAtMs  str   digits, '0' without a packet

O(1). TTL: the activity's. Clock: Redis. Replay: answers the packet that the first call gave, as code 1.
]]
local mine = redis.call('HMGET', KEYS[3], '', ARGV[1])
if mine[2] then
  local id, cents, at = string.match(mine[2], '^(%d+):(%d+):(%d+)$')
  if not id then return redis.error_reply('BADGRANT the grant is not <packet>:<cents>:<ms>, nothing was changed') end
  return { 1, id, cents, at }
end
local meta = redis.call('HMGET', KEYS[1], 'state', 'grantedCents', 'totalCents')
if meta[1] ~= 'open' then return { -2, '', '0', '0' } end
-- Without the grants, those who have won already would win again.
if not mine[1] then return redis.error_reply('LOSTGRANTS the grants are gone, was the key evicted? nothing was changed') end
local head = redis.call('LINDEX', KEYS[2], 0)
if not head then return { -1, '', '0', '0' } end

-- All that could fail is met here, before the first write: Redis does not roll back.
local id, cents = string.match(head, '^(%d+):([1-9]%d*)$')
if not id or #head > 40 or #cents > 16 then
  return redis.error_reply('BADPACKET the pool starts with no <packet>:<cents>, nothing was changed')
end
-- HINCRBY takes no leading zeros, and no number of more than 16 digits is one of cents.
local granted = string.match(meta[2] or '', '^0$') or string.match(meta[2] or '', '^[1-9]%d*$')
if not granted or #granted > 16 or granted + cents > (tonumber(meta[3]) or 0) then
  return redis.error_reply('BADMETA grantedCents and this packet do not fit the total, nothing was changed')
end
redis.call('XLEN', KEYS[4])
if not (redis.acl_check_cmd('XADD', KEYS[4], '*', 'f', 'v') and redis.acl_check_cmd('LPOP', KEYS[2])
  and redis.acl_check_cmd('HSET', KEYS[3], 'f', 'v') and redis.acl_check_cmd('HINCRBY', KEYS[1], 'f', 1)) then
  return redis.error_reply('NOTALLOWED grab needs XADD, LPOP, HSET and HINCRBY, nothing was changed')
end
local time = redis.call('TIME')
local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
-- XADD first: it alone can still fail, when the stream is gone or its ids are used up.
if not redis.call('XADD', KEYS[4], 'NOMKSTREAM', '*', 'user', ARGV[1], 'packet', id, 'cents', cents, 'at', at) then
  return redis.error_reply('LOSTOUTBOX the outbox is gone, was the key evicted? nothing was changed')
end
redis.call('LPOP', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[1], id .. ':' .. cents .. ':' .. at)
redis.call('HINCRBY', KEYS[1], 'grantedCents', cents)
return { 0, id, cents, at }
