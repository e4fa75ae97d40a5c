--[[
renew: extend the lease of an owner, so that it ends leaseMs from now.

KEYS[1]  claim      string    <prefix>:once:{<id>}:claim   format: see the script claim
ARGV[1]  token      str       token of the owner
ARGV[2]  leaseMs    int >= 1  time from now to the end of the lease, ms
ARGV[3]  operation  str       identifies this renewal, to detect a replay

Returns {status, leaseEndsAtMs}
  status         'renewed' | 'lost'   lost: the caller does not own the id; nothing was changed
  leaseEndsAtMs  str  end of the lease, digits, ms since 1970 by Redis' clock; '0' for 'lost'

O(1). TTL: at least the lease. Clock: Redis. Replay: returns the first reply until the lease ends, unless another renewal came
in between.
]]
-- @include clock
local lease = tonumber(ARGV[2])
if not lease or lease < 1 or lease >= 1e12 or lease % 1 ~= 0 then
  return redis.error_reply('BADTTL leaseMs is not an integer from 1 to 999999999999 ms; nothing was changed')
end
local text = redis.call('GET', KEYS[1])
if not text then return { 'lost', '0' } end
local _, colon = string.find(text, '^[cdr][lm]%d+:')
if colon ~= 60 then
  return redis.error_reply(
    'BADCLAIM another program wrote the key of this id; nothing was changed. Delete the key, or use another prefix'
  )
end
local a, b, c = string.sub(text, 44, 47) + 0, string.sub(text, 48, 51) + 0, string.sub(text, 52, 55) + 0
local ends = string.sub(text, 19, 31)
if string.sub(text, 1, 1) ~= 'c' or tonumber(ends) <= now_ms or string.sub(text, 61, 60 + a) ~= ARGV[1] then
  return { 'lost', '0' }
end
local renewal = 61 + a + b
if string.sub(text, renewal, renewal + c - 1) == ARGV[3] then return { 'renewed', ends } end
ends = string.format('%013d', now_ms + lease)
redis.call('SET', KEYS[1], string.sub(text, 1, 18) .. ends .. string.sub(text, 32, 51) .. string.format('%04d', #ARGV[3])
  .. string.sub(text, 56, renewal - 1) .. ARGV[3] .. string.sub(text, renewal + c), 'KEEPTTL')
if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { 'renewed', ends }
