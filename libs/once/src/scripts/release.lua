--[[
release: give an id back, undone, for anybody to claim.

KEYS[1]  claim  string  <prefix>:once:{<id>}:claim   laid out as `claim` says
ARGV[1]  token  str     the owner's

Returns status
  status  'released' | 'lost'

O(1). TTL: the claim's; set again where it was lost. Clock: Redis. Replay: answers released, also when another has claimed
since.
]]
local text = redis.call('GET', KEYS[1])
if not text then return 'lost' end
local state, ends, retention, a, b, at = string.match(text, '^(%l)%l %d+ (%d+) (%d+) (%d+) (%d+) %d+ %d+:()')
if not state then return redis.error_reply('BADCLAIM the key holds no claim, nothing was changed') end
if string.sub(text, at, at + a - 1) ~= ARGV[1] then
  return string.sub(text, at + a, at + a + b - 1) == ARGV[1] and 'released' or 'lost'
end
if state == 'r' then return 'released' end
local time = redis.call('TIME')
if state ~= 'c' or tonumber(ends) <= time[1] * 1000 + math.floor(time[2] / 1000) then return 'lost' end
redis.call('SET', KEYS[1], 'r' .. string.sub(text, 2), 'KEEPTTL')
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], retention) end
return 'released'
