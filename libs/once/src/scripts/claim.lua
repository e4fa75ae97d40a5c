--[[
claim: take an id for a lease, unless it is taken or done.

KEYS[1]  claim        hash      <prefix>:once:{<id>}:claim
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
if not string.match(ARGV[2], '^[1-9]%d*$') or #ARGV[2] > 12 or not string.match(ARGV[3], '^[1-9]%d*$')
  or #ARGV[3] > 12 then
  return redis.error_reply('BADTTL leaseMs and retentionMs must be integers of 1 to 12 digits, nothing was changed')
end
local had = redis.call('HMGET', KEYS[1], 'state', 'token', 'fence', 'until', 'fingerprint', 'delivery', 'result')
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
if had[1] and had[1] ~= 'released' then
  local ends = tonumber(had[4])
  if not ends then return redis.error_reply('BADCLAIM the claim has no deadline, nothing was changed') end
  if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  if had[5] ~= ARGV[5] then return { 'mismatch', '0', '0', 0, '' } end
  if had[1] == 'done' then return { 'done', '0', '0', 0, had[7] or '' } end
  if ends > now and had[2] == ARGV[1] then return { 'claimed', had[3], had[4], 0, '' } end
  if ends > now then return { 'in-progress', '0', '0', ends - now, '' } end
  if had[6] == 'at-most-once' then return { 'abandoned', '0', '0', 0, '' } end
end
-- Microseconds of Redis' clock, so that a fence rises also after the key has gone.
local fence = string.format('%.0f', math.max(micros, (tonumber(had[3]) or 0) + 1))
local ends = string.format('%.0f', now + ARGV[2])
redis.call('HSET', KEYS[1], 'state', 'claimed', 'token', ARGV[1], 'fence', fence, 'until', ends,
  'retention', ARGV[3], 'delivery', ARGV[4], 'fingerprint', ARGV[5], 'renewal', '')
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), tonumber(ARGV[3])))
return { 'claimed', fence, ends, 0, '' }
