--[[
renew: let an owner's lease run anew from now.

KEYS[1]  claim      hash      <prefix>:once:{<id>}:claim
ARGV[1]  token      str       the owner's
ARGV[2]  leaseMs    int >= 1  how long the owner has from now on, ms
ARGV[3]  operation  str       names this renewal

Returns {status, leaseUntilMs}
  status        'renewed' | 'lost'
  leaseUntilMs  str  digits, by Redis' clock; '0' when lost

O(1). TTL: at least the lease. Clock: Redis. Replay: the same operation gets the first answer while that lease lasts.
]]
if not string.match(ARGV[2], '^[1-9]%d*$') or #ARGV[2] > 12 then
  return redis.error_reply('BADTTL leaseMs must be an integer of 1 to 12 digits, nothing was changed')
end
local had = redis.call('HMGET', KEYS[1], 'state', 'token', 'until', 'renewal')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if had[1] ~= 'claimed' or had[2] ~= ARGV[1] or (tonumber(had[3]) or 0) <= now then return { 'lost', '0' } end
if had[4] == ARGV[3] then return { 'renewed', had[3] } end
local ends = string.format('%.0f', now + ARGV[2])
redis.call('HSET', KEYS[1], 'until', ends, 'renewal', ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { 'renewed', ends }
