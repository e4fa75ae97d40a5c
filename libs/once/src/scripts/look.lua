--[[
look: read the state of an id, without its result. Also reads ids of the script first.

KEYS[1]  claim  string  <prefix>:once:{<id>}:claim   format: see the script claim; or <prefix>:once:{<id>}:first

Returns {state, delivery, fence, leaseEndsAtMs, expiresAtMs, bytes, now}
  state          'claimed' | 'done' | 'released' | 'first' | '': there is no such key
  delivery       'at-least-once' | 'at-most-once' | ''
  fence          str  fencing token in 16 digits; '' if there is none
  leaseEndsAtMs  int  end of the lease, ms since 1970; 0 unless claimed
  expiresAtMs    int  time at which the key expires, ms since 1970; -1 if it has no TTL
  bytes          int  size of the result, bytes
  now            int  ms since 1970

O(1). TTL: unchanged. Clock: Redis. Replay: reads again.
]]
-- @include clock
local text = redis.call('GET', KEYS[1])
if not text then return { '', '', '', 0, 0, 0, now_ms } end
local expires = redis.call('PEXPIRETIME', KEYS[1])
local _, colon, lengths = string.find(text, '^[cdr][lm]%d+(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d):')
if colon ~= 60 then return { 'first', '', '', 0, expires, 0, now_ms } end
local state = ({ c = 'claimed', d = 'done', r = 'released' })[string.sub(text, 1, 1)]
local before = 60
for from = 1, 13, 4 do before = before + string.sub(lengths, from, from + 3) end
return {
  state, string.sub(text, 2, 2) == 'm' and 'at-most-once' or 'at-least-once', string.sub(text, 3, 18),
  state == 'claimed' and tonumber(string.sub(text, 19, 31)) or 0, expires, state == 'done' and #text - before or 0, now_ms,
}
