--[[
claim: take an id for a lease, unless it is taken or done.

KEYS[1]  claim        string    <prefix>:once:{<id>}:claim   one text, so that a call reads and writes it by one command:
                                '<state><delivery> <fence> <until> <retention> <lengths of four texts>:<texts><result>'
                                state c(laimed) | d(one) | r(eleased); delivery l(east) | m(ost); until is the lease's
                                end, ms; the texts are token, token of the last release, last renewal, fingerprint
ARGV[1]  token        str       names the claim; whoever knows it owns it
ARGV[2]  leaseMs      int >= 1  how long the owner has before it must renew, ms
ARGV[3]  retentionMs  int >= 1  how long the id is remembered, ms
ARGV[4]  delivery     str       'at-least-once' | 'at-most-once'; the claim's, kept with it
ARGV[5]  fingerprint  str       what a repeat must equal; '' for nothing

Returns {status, fence, leaseUntilMs, retryAfterMs, result}
  status        'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch'   abandoned: its owner's lease ended,
                and at most once means that nobody else may try; mismatch: the id has another fingerprint
  fence         str  digits; rises from claim to claim; '0' unless claimed
  leaseUntilMs  str  digits, by Redis' clock; '0' unless claimed
  retryAfterMs  int  when the present lease ends unless renewed; 0 unless in-progress
  result        str  '' for none

O(1). TTL: the longer of lease and retention. Clock: Redis. Replay: the same token gets the same answer while the lease
lasts.
]]
if not string.find(ARGV[2], '^[1-9]%d*$') or #ARGV[2] > 12 or not string.find(ARGV[3], '^[1-9]%d*$')
  or #ARGV[3] > 12 then
  return redis.error_reply('BADTTL leaseMs and retentionMs must be integers of 1 to 12 digits, nothing was changed')
end
local text = redis.call('GET', KEYS[1])
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local released = ''
if text then
  local state, delivery, fence, ends, a, b, c, d, at =
    string.match(text, '^(%l)(%l) (%d+) (%d+) %d+ (%d+) (%d+) (%d+) (%d+):()')
  if not state then return redis.error_reply('BADCLAIM the key holds no claim, nothing was changed') end
  local token, from = string.sub(text, at, at + a - 1), at + a + b + c
  if state ~= 'r' then
    if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
    if string.sub(text, from, from + d - 1) ~= ARGV[5] then return { 'mismatch', '0', '0', 0, '' } end
    if state == 'd' then return { 'done', '0', '0', 0, string.sub(text, from + d) } end
    local left = tonumber(ends) - now
    if left > 0 and token == ARGV[1] then return { 'claimed', fence, ends, 0, '' } end
    if left > 0 then return { 'in-progress', '0', '0', left, '' } end
    if delivery == 'm' then return { 'abandoned', '0', '0', 0, '' } end
  end
  released = state == 'r' and token or string.sub(text, at + a, at + a + b - 1)
  micros = math.max(micros, fence + 1)
end
-- Microseconds of Redis' clock, so that a fence rises also after the key has gone.
local fence, ends = string.format('%.0f', micros), string.format('%.0f', now + ARGV[2])
redis.call('SET', KEYS[1], (ARGV[4] == 'at-most-once' and 'cm ' or 'cl ') .. fence .. ' ' .. ends .. ' ' .. ARGV[3]
  .. ' ' .. #ARGV[1] .. ' ' .. #released .. ' 0 ' .. #ARGV[5] .. ':' .. ARGV[1] .. released .. ARGV[5],
  'PX', math.max(tonumber(ARGV[2]), tonumber(ARGV[3])))
return { 'claimed', fence, ends, 0, '' }
