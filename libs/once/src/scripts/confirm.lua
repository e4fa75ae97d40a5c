--[[
confirm: mark an id as done, with a result for those who ask again.

KEYS[1]  claim   hash  <prefix>:once:{<id>}:claim
ARGV[1]  token   str   the owner's
ARGV[2]  result  str   '' for none

Returns status
  status  'confirmed' | 'lost'

O(1). TTL: the claim's retention, from now. Clock: Redis. Replay: answers confirmed, and the first result stays.
]]
local had = redis.call('HMGET', KEYS[1], 'state', 'token', 'until', 'retention')
if had[2] ~= ARGV[1] then return 'lost' end
if had[1] == 'done' then return 'confirmed' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if had[1] ~= 'claimed' or (tonumber(had[3]) or 0) <= now then return 'lost' end
if not string.match(had[4] or '', '^[1-9]%d*$') then
  return redis.error_reply('BADCLAIM the claim has no retention, nothing was changed')
end
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'state', 'done')
else
  redis.call('HSET', KEYS[1], 'state', 'done', 'result', ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], had[4])
return 'confirmed'
