--[[
renew: let an owner's lease run anew from now.

KEYS[1]  claim      string    <prefix>:once:{<id>}:claim   laid out as `claim` says
ARGV[1]  token      str       the owner's
ARGV[2]  leaseMs    int >= 1  how long the owner has from now on, ms
ARGV[3]  operation  str       names this renewal

Returns {status, leaseUntilMs}
  status        'renewed' | 'lost'
  leaseUntilMs  str  digits, by Redis' clock; '0' when lost

O(1). TTL: at least the lease. Clock: Redis. Replay: the same operation gets the first answer while that lease lasts.
]]
if not string.find(ARGV[2], '^[1-9]%d*$') or #ARGV[2] > 12 then
  return redis.error_reply('BADTTL leaseMs must be an integer of 1 to 12 digits, nothing was changed')
end
local text = redis.call('GET', KEYS[1])
if not text then return { 'lost', '0' } end
local start, ends, retention, a, b, c, d, at =
  string.match(text, '^(%l%l %d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+):()')
if not start then return redis.error_reply('BADCLAIM the key holds no claim, nothing was changed') end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if string.sub(start, 1, 1) ~= 'c' or tonumber(ends) <= now or string.sub(text, at, at + a - 1) ~= ARGV[1] then
  return { 'lost', '0' }
end
local renewal = at + a + b
if string.sub(text, renewal, renewal + c - 1) == ARGV[3] then return { 'renewed', ends } end
ends = string.format('%.0f', now + ARGV[2])
redis.call('SET', KEYS[1], start .. ' ' .. ends .. ' ' .. retention .. ' ' .. a .. ' ' .. b .. ' ' .. #ARGV[3] .. ' ' .. d
  .. ':' .. string.sub(text, at, renewal - 1) .. ARGV[3] .. string.sub(text, renewal + c), 'KEEPTTL')
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { 'renewed', ends }
