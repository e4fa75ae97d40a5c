--[[
release: give an id back, undone, for anybody to claim.

KEYS[1]  claim  hash  <prefix>:once:{<id>}:claim
ARGV[1]  token  str   the owner's

Returns status
  status  'released' | 'lost'

O(1). TTL: the claim's; set again where it was lost. Clock: Redis. Replay: answers released, also when another has claimed
since.
]]
local had = redis.call('HMGET', KEYS[1], 'state', 'token', 'until', 'retention', 'released')
if had[1] == 'claimed' and had[2] == ARGV[1] then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if (tonumber(had[3]) or 0) <= now then return 'lost' end
  if not string.match(had[4] or '', '^[1-9]%d*$') then
    return redis.error_reply('BADCLAIM the claim has no retention, nothing was changed')
  end
  redis.call('HSET', KEYS[1], 'state', 'released', 'token', '', 'released', ARGV[1])
  if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], had[4]) end
  return 'released'
end
if had[5] == ARGV[1] and had[2] ~= ARGV[1] then return 'released' end
return 'lost'
