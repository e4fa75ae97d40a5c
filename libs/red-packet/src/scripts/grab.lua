--[[
grab: grant the first packet of the pool to a user who has no packet, and write the payout row, if the activity is open.

KEYS[1]  meta    hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  pool    list(str) <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]  grants  hash      <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[4]  outbox  stream    <prefix>:red-packet:{<partition>}:outbox
KEYS[5]  tries   hash      <prefix>:red-packet:{<partition>}:tries:<activity>
ARGV[1]  userId  str       1 to 256 characters
ARGV[2]  mode    int       0; plus 1 if WAIT follows the call; plus 2 if an earlier call of this grab found the bucket empty

Returns {code, text}
  code  0 won by this call | 1 won before | -1 no packet is left | -2 not open | -3 no packet is left in this bucket |
        -4 the user has grabbed maxTries times without a packet
  text  str   '<packet>:<cents>:<ms>', where ms is the time of the grant; for -2 'unknown' | 'draft' | 'paused' | 'ended' |
        'closed' | 'preheated:<ms until it opens>' | 'spread:<buckets>'; else ''

O(1). TTL: untouched. Clock: Redis. Replay: returns the packet of the first call, with code 1, unless
void-grant has voided it. If the first call found no packet, the replay may count as another try.
]]
-- @include now-text

-- Checks the next packet before it is granted. Returns nil, or the text of an error.
local function problem_of(head, id, cents, granted, held)
  if not id or #head > 60 or #cents > 16 then
    return 'BADPACKET the list of packets is damaged: its first entry is not <packet>:<cents>:<sum>; nothing was changed'
  end
  -- A damaged heldCents of 'nan' makes the comparison false, so the packet is refused.
  local fits = granted + cents <= held
  if not fits then return 'BADMETA the counters of cents of this activity (its meta hash) are damaged; nothing was changed. Run audit()' end
  if redis.acl_check_cmd('XADD', KEYS[4], '*', 'f', 'v') and redis.acl_check_cmd('LPOP', KEYS[2], '1')
    and redis.acl_check_cmd('HSET', KEYS[3], 'f', 'v') and redis.acl_check_cmd('HSET', KEYS[1], 'f', 'v') then return nil end
  return 'NOTALLOWED the Redis user needs permission for XADD, LPOP and HSET to grab; nothing was changed'
end

local grants = redis.call('HMGET', KEYS[3], ARGV[1], '')
if grants[1] then
  local id, cents, at = string.match(grants[1], '^(%d+):(%d+):(%d+)')
  if not id then return redis.error_reply('BADGRANT the packet of the user is damaged: not <packet>:<cents>:<ms>; nothing was changed') end
  -- The grant is written again, because a WAIT after this call covers only writes of the same connection.
  if ARGV[2] % 2 == 1 then redis.call('HSET', KEYS[3], ARGV[1], grants[1]) end
  return { 1, id .. ':' .. cents .. ':' .. at }
end
local meta = redis.call('HMGET', KEYS[1], 'state', 'startsAtMs', 'endsAtMs', 'maxTries', 'heldCents', 'bestCents', 'activity')
if meta[1] ~= 'open' then return { -2, meta[1] or 'unknown' } end
local starts, ends, tries, best = tonumber(meta[2]), tonumber(meta[3]), tonumber(meta[4]), tonumber(meta[6] or '0')
if not starts or not ends or not tries or not best or not meta[7] then
  return redis.error_reply('BADMETA the meta hash of the activity is damaged: a field is missing or not a number; nothing was changed')
end
if now_ms < starts then return { -2, 'preheated:' .. string.format('%.0f', starts - now_ms) } end
if now_ms >= ends then return { -2, 'ended' } end
local granted, problem = string.match(grants[2] or '', '^(%d+):%d+$'), nil
-- If Redis has lost the grants, it is unknown who has won, so nobody may win. The granted cents have at most 16 digits, as many
-- as 2^53.
if not grants[2] then
  problem = 'LOSTGRANTS Redis has lost the winners of this activity, perhaps by eviction; nothing was changed'
elseif not granted or #granted > 16 or #granted > 1 and string.byte(granted) == 48 then
  problem = 'BADMETA the counters of cents of this activity (its meta hash) are damaged; nothing was changed. Run audit()'
end
if problem then return redis.error_reply(problem) end
local counts = tries > 0 and ARGV[2] + 0 < 2
if counts and tonumber(redis.call('HGET', KEYS[5], ARGV[1]) or '0') >= tries then return { -4, '' } end
local head = redis.call('LINDEX', KEYS[2], 0)
if not head then
  if counts then redis.call('HINCRBY', KEYS[5], ARGV[1], 1) end
  return { redis.call('HGET', KEYS[1], 'buckets') == '1' and -1 or -3, '' }
end
local packet, id, cents = string.match(head, '^((%d+):([1-9]%d*)):%d+$')
-- Redis does not roll back, so everything is checked before the first write. Only XADD can still fail, because the stream is lost or its
-- ids are used up, so it comes first.
problem = problem_of(head, id, cents, granted, tonumber(meta[5]) or 0)
local grant = (packet or '') .. ':' .. now_text
if not problem and not redis.call('XADD', KEYS[4], 'NOMKSTREAM', '*', 'activity', meta[7], 'user', ARGV[1], 'grant', grant) then
  problem = 'LOSTOUTBOX Redis has lost the payouts of this activity, perhaps by eviction; nothing was changed'
end
if problem then return redis.error_reply(problem) end
redis.call('LPOP', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[1], grant, '', string.format('%.0f:', granted + cents) .. now_text)
if cents + 0 > best then redis.call('HSET', KEYS[1], 'bestCents', cents, 'bestPacket', id, 'bestAt', now_text, 'bestUser', ARGV[1]) end
return { 0, grant }
