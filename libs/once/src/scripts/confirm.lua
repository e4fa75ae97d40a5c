--[[
confirm: mark an id as done, with a result for those who ask again.

KEYS[1]  claim   string  <prefix>:once:{<id>}:claim   laid out as `claim` says
ARGV[1]  token   str     the owner's
ARGV[2]  result  str     '' for none

Returns status
  status  'confirmed' | 'lost'

O(1). TTL: the claim's retention, from now. Clock: Redis. Replay: answers confirmed, and the first result stays.
]]
local text = redis.call('GET', KEYS[1])
if not text then return 'lost' end
local state, ends, retention, a, at = string.match(text, '^(%l)%l %d+ (%d+) (%d+) (%d+) %d+ %d+ %d+:()')
if not state then return redis.error_reply('BADCLAIM the key holds no claim, nothing was changed') end
if string.sub(text, at, at + a - 1) ~= ARGV[1] then return 'lost' end
if state == 'd' then return 'confirmed' end
local time = redis.call('TIME')
if state ~= 'c' or tonumber(ends) <= time[1] * 1000 + math.floor(time[2] / 1000) then return 'lost' end
redis.call('SET', KEYS[1], 'd' .. string.sub(text, 2) .. ARGV[2], 'PX', retention)
return 'confirmed'
