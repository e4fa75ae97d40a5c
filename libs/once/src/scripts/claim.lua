--[[
claim: claim an id for the time of a lease, unless another owner has the id or the id is done.

KEYS[1]  claim        string    <prefix>:once:{<id>}:claim   the whole claim is one text, so that one command can read or write it:
                                state, 1 letter: c(laimed) | d(one) | r(eleased); delivery, 1 letter: l(east) | m(ost);
                                fence, 16 digits; end of the lease, ms since 1970, 13 digits; retention, ms, 12 digits; then the
                                lengths of four texts, bytes, 4 digits each: token, token of the last release, id of the last
                                renewal, fingerprint; then ':', the four texts, and the result
ARGV[1]  token        str       identifies the owner
ARGV[2]  leaseMs      int >= 1  time in which the owner must renew the lease, ms
ARGV[3]  retentionMs  int >= 1  time for which the id is remembered, ms
ARGV[4]  delivery     str       'at-least-once' | 'at-most-once'; stored with the claim
ARGV[5]  fingerprint  str       hash of a request's content, which must be the same in each claim; '' if there is no request

Returns answer
  answer  str  'c', the fencing token in 16 digits and the end of the lease in 13: claimed. Each later claim has a higher fencing token,
               unless Redis has lost the key and its clock was set back
               'p' and the ms until the lease of the owner ends: in progress
               'd' and the result: done
               'a': abandoned; the lease of an at-most-once claim ended without a confirmation
               'm': mismatch; the id was claimed with another fingerprint

O(1). TTL: the longer of lease and retention. Clock: Redis. Replay: the same token gets the same reply while
its owner holds the id.
]]
-- @include clock
-- @include head
local layout, kind = '%s%016d%013d%012d%04d%04d0000%04d:', ARGV[4] == 'at-most-once' and 'cm' or 'cl'
if ARGV[2] ~= head_lease or ARGV[3] ~= head_retention or kind ~= head_kind or #ARGV[1] ~= head_token
  or #ARGV[5] ~= head_fingerprint then
  local lease, retention = tonumber(ARGV[2]), tonumber(ARGV[3])
  if not lease or not retention or lease < 1 or retention < 1 or lease >= 1e12 or retention >= 1e12
    or lease % 1 ~= 0 or retention % 1 ~= 0 then
    return redis.error_reply('BADTTL leaseMs or retentionMs is not an integer from 1 to 999999999999 ms; nothing was changed')
  end
  -- A first fencing token is Redis' time in us. So even after the key has expired, it is higher than all earlier ones, unless the clock was
  -- set back.
  head = string.format(layout, kind, now_us, now_ms + lease, retention, #ARGV[1], 0, #ARGV[5])
  ttl = lease > retention and ARGV[2] or ARGV[3]
  head_lease, head_retention, head_kind, head_token, head_fingerprint = ARGV[2], ARGV[3], kind, #ARGV[1], #ARGV[5]
end
-- SET with NX and GET returns nothing if it has written the claim. Otherwise it writes nothing, and returns the old value. So a new id is
-- claimed with this single command.
local text = redis.call('SET', KEYS[1], head .. ARGV[1] .. ARGV[5], 'NX', 'GET', 'PX', ttl)
if not text then return 'c' .. string.sub(head, 3, 31) end
local _, colon, lengths = string.find(text, '^[cdr][lm]%d+(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d):')
if colon ~= 60 then
  return redis.error_reply(
    'BADCLAIM another program wrote the key of this id; nothing was changed. Delete the key, or use another prefix'
  )
end
local a, b = tonumber(string.sub(lengths, 1, 4)), tonumber(string.sub(lengths, 5, 8))
local c, d = tonumber(string.sub(lengths, 9, 12)), tonumber(string.sub(lengths, 13))
local state, token, from = string.sub(text, 1, 1), string.sub(text, 61, 60 + a), 61 + a + b + c
if state ~= 'r' then
  if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  if string.sub(text, from, from + d - 1) ~= ARGV[5] then return 'm' end
  if state == 'd' then return 'd' .. string.sub(text, from + d) end
  local left = tonumber(string.sub(text, 19, 31)) - now_ms
  if left > 0 and token == ARGV[1] then return 'c' .. string.sub(text, 3, 31) end
  if left > 0 then return 'p' .. left end
  if string.sub(text, 2, 2) == 'm' then return 'a' end
end
local released = state == 'r' and token or string.sub(text, 61 + a, 60 + a + b)
local fence = math.max(now_us, string.sub(text, 3, 18) + 1)
local taken = string.format(layout, kind, fence, now_ms + ARGV[2], ARGV[3], #ARGV[1], #released, #ARGV[5])
redis.call('SET', KEYS[1], taken .. ARGV[1] .. released .. ARGV[5], 'PX', ttl)
return 'c' .. string.sub(taken, 3, 31)
