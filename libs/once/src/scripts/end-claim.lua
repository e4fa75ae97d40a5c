--[[
end-claim: end the claim of an owner that an operator has seen, or forget an id.

KEYS[1]  claim  string  <prefix>:once:{<id>}:claim   format: see the script claim; or <prefix>:once:{<id>}:first
ARGV[1]  verb   str     'release': free the id, without knowing the token | 'forget': delete the key, so that the work can run again
ARGV[2]  fence  str     fencing token in 16 digits of the claim that the operator has seen; '' for an id of the script first

Returns status
  status  'ended' | 'changed': another owner has claimed the id since, or it is not claimed any more | 'unknown': there is no such key

O(1). TTL: unchanged. Clock: not read. Replay: the same status after a release; 'unknown' after a forget, or
'changed' after a new claim.
]]
local text = redis.call('GET', KEYS[1])
if not text then return 'unknown' end
local _, colon = string.find(text, '^[cdr][lm]%d+:')
if (colon == 60 and string.sub(text, 3, 18) or '') ~= ARGV[2] then return 'changed' end
if ARGV[1] == 'forget' then
  redis.call('UNLINK', KEYS[1])
  return 'ended'
end
local state = colon == 60 and string.sub(text, 1, 1)
if state == 'r' then return 'ended' end
if state ~= 'c' then return 'changed' end
redis.call('SET', KEYS[1], 'r' .. string.sub(text, 2), 'KEEPTTL')
return 'ended'
