--[[
grab-group: do what the script grab does, for grabs that are sent together: each bucket is read once, and some writes are made at the end.

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
-- @include granting
-- @finish finish-grab
local mine = redis.call('HGET', KEYS[3], ARGV[1])
if mine then
  local id, cents, at = string.match(mine, '^(%d+):(%d+):(%d+)')
  if not id then return redis.error_reply('BADGRANT the packet of the user is damaged: not <packet>:<cents>:<ms>; nothing was changed') end
  -- The grant is written again, because a WAIT after this call covers only writes of the same connection.
  if ARGV[2] % 2 == 1 then redis.call('HSET', KEYS[3], ARGV[1], mine) end
  return { 1, id .. ':' .. cents .. ':' .. at }
end
local gate, problem = gates[KEYS[1]]
if not gate then
  gate, problem = read_gate(redis.call('HMGET', KEYS[1], 'state', 'startsAtMs', 'endsAtMs', 'maxTries', 'heldCents', 'bestCents',
      'activity'),
    redis.call('HGET', KEYS[3], ''))
  if problem then return problem end
  gates[KEYS[1]] = gate
end
if gate.state ~= 'open' then return { -2, describe_state(gate) } end
local counts = gate.tries > 0 and ARGV[2] + 0 < 2
if counts and tonumber(redis.call('HGET', KEYS[5], ARGV[1]) or '0') >= gate.tries then return { -4, '' } end
-- The first grab reads one packet, later ones read 32 at once. Granted packets leave the pool after the last grab.
local head = gate.ahead[gate.at]
if not head then
  gate.ahead = redis.call('LRANGE', KEYS[2], gate.taken, gate.taken + (gate.at > 0 and 31 or 0))
  gate.at, head = 1, gate.ahead[1]
end
if not head then
  if counts then redis.call('HINCRBY', KEYS[5], ARGV[1], 1) end
  return { redis.call('HGET', KEYS[1], 'buckets') == '1' and -1 or -3, '' }
end
local packet, id, cents = string.match(head, '^((%d+):([1-9]%d*)):%d+$')
-- Everything that can fail is checked before the first write: Redis does not roll back.
problem = check_packet(gate, id, cents, head)
  or not gate.permitted and check_permissions(gate, KEYS[1], KEYS[2], KEYS[3], KEYS[4])
if problem then return problem end
-- Only XADD can still fail, so it comes first: the stream may be lost, or its ids used up.
local grant = packet .. ':' .. now_text
if not redis.call('XADD', KEYS[4], 'NOMKSTREAM', '*', 'activity', gate.activity, 'user', ARGV[1], 'grant', grant) then
  return redis.error_reply('LOSTOUTBOX Redis has lost the payouts of this activity, perhaps by eviction; nothing was changed')
end
redis.call('HSET', KEYS[3], ARGV[1], grant)
gate.at, gate.taken, gate.granted = gate.at + 1, gate.taken + 1, gate.granted + cents
if tonumber(cents) > gate.best then gate.best, gate.luckiest = tonumber(cents), { cents, id, ARGV[1] } end
return { 0, grant }
