--[[
peek: read the state of an id.

KEYS[1]  claim  string  <prefix>:once:{<id>}:claim   format: see the script claim

Returns {status, fence, leaseEndsAtMs, expiresAtMs, result}
  status         'unknown' | 'in-progress' | 'done' | 'abandoned'   'unknown': the id can be claimed
  fence          str  fencing token in 16 digits; '0' unless 'in-progress'
  leaseEndsAtMs  str  end of the lease, digits, ms since 1970 by Redis' clock; '0' unless 'in-progress'
  expiresAtMs    int  time at which the key expires, ms since 1970 by Redis' clock; -1 if it has no TTL; 0 for 'unknown'
  result         str  stored result; '' if there is none

O(1). TTL: unchanged. Clock: Redis. Replay: reads again.
]]
-- @include clock
local text = redis.call('GET', KEYS[1])
if not text then return { 'unknown', '0', '0', 0, '' } end
local _, colon, lengths = string.find(text, '^[cdr][lm]%d+(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d):')
if colon ~= 60 then return redis.error_reply('BADCLAIM another program wrote the key of this id. Delete the key, or use another prefix') end
local state = string.sub(text, 1, 1)
if state == 'r' then return { 'unknown', '0', '0', 0, '' } end
local expires = redis.call('PEXPIRETIME', KEYS[1])
if state == 'd' then
  local before = 0
  for from = 1, 13, 4 do before = before + string.sub(lengths, from, from + 3) end
  return { 'done', '0', '0', expires, string.sub(text, 61 + before) }
end
if tonumber(string.sub(text, 19, 31)) > now_ms then
  return { 'in-progress', string.sub(text, 3, 18), string.sub(text, 19, 31), expires, '' }
end
if string.sub(text, 2, 2) == 'm' then return { 'abandoned', '0', '0', expires, '' } end
return { 'unknown', '0', '0', 0, '' }
