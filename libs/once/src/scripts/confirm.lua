--[[
confirm: mark an id as done, with a result for later claims.

KEYS[1]  claim   string  <prefix>:once:{<id>}:claim   format: see the script claim
ARGV[1]  token   str     token of the owner
ARGV[2]  result  str     '' for no result

Returns status
  status  'confirmed' | 'lost'   lost: the caller does not own the id; nothing was changed

O(1). TTL: the retention of the claim, from now on. Clock: Redis. Replay: returns confirmed, and the first result stays.
]]
-- @include clock
local text = redis.call('GET', KEYS[1])
if not text then return 'lost' end
local _, colon = string.find(text, '^[cdr][lm]%d+:')
if colon ~= 60 then
  return redis.error_reply(
    'BADCLAIM another program wrote the key of this id; nothing was changed. Delete the key, or use another prefix'
  )
end
if string.sub(text, 61, 60 + string.sub(text, 44, 47)) ~= ARGV[1] then return 'lost' end
local state = string.sub(text, 1, 1)
if state == 'd' then return 'confirmed' end
local left = string.sub(text, 19, 31) - now_ms
if state ~= 'c' or left <= 0 then return 'lost' end
redis.call('SET', KEYS[1], 'd' .. string.sub(text, 2) .. ARGV[2], 'PX', tonumber(string.sub(text, 32, 43)))
return 'confirmed'
