--[[
release: end a claim without marking its id as done, so that the id can be claimed again.

KEYS[1]  claim  string  <prefix>:once:{<id>}:claim   format: see the script claim
ARGV[1]  token  str     token of the owner

Returns status
  status  'released' | 'lost'   lost: the caller does not own the id; nothing was changed

O(1). TTL: unchanged; a key that has lost its TTL gets the retention of the claim. Clock: Redis. Replay: returns
released, even if the next owner has claimed the id meanwhile.
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
local state, a, b = string.sub(text, 1, 1), string.sub(text, 44, 47) + 0, string.sub(text, 48, 51) + 0
if string.sub(text, 61, 60 + a) ~= ARGV[1] then
  return string.sub(text, 61 + a, 60 + a + b) == ARGV[1] and 'released' or 'lost'
end
if state == 'r' then return 'released' end
local left = string.sub(text, 19, 31) - now_ms
if state ~= 'c' or left <= 0 then return 'lost' end
redis.call('SET', KEYS[1], 'r' .. string.sub(text, 2), 'KEEPTTL')
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], tonumber(string.sub(text, 32, 43))) end
return 'released'
