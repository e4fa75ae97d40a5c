--[[
receive-packets: append packets that another bucket (shard of the activity) has sent to the pool of this bucket, once. If this bucket is
closed, append them to its refunds.

KEYS[1]    meta         hash       <prefix>:red-packet:{<partition>}:meta:<destination>
KEYS[2]    pool         list(str)  <prefix>:red-packet:{<partition>}:pool:<destination>
KEYS[3]    moves        hash       <prefix>:red-packet:{<partition>}:moves:<destination>
KEYS[4]    refunds      list(str)  <prefix>:red-packet:{<partition>}:refunds:<destination>
ARGV[1]    from         int        index of the bucket that sent the packets
ARGV[2]    sequence     str        number of the transfer; later transfers from the same bucket have higher numbers
ARGV[3]    expiresAtMs  str        expiresAtMs of the activity of the packets, as send-packets returned it
ARGV[4..]  packets      list(str)  1 to 500 packets, '<packetId>:<cents>'

Returns {status}
  status  'received' | 'received-before' | 'missing'   received: by this call; missing: there is no such bucket, or it is a
          draft, or it belongs to a later activity with the same id

O(packets). TTL: untouched. Clock: Redis. Replay: returns received-before and writes the same number again, because the
number of the last transfer is stored.
]]
-- @include now-text
-- @include cents
local marks = redis.call('HMGET', KEYS[3], 'in:' .. ARGV[1])
local meta = redis.call('HMGET', KEYS[1], 'state', 'expiresAtMs')
local state = meta[1]
if not state or state == 'draft' or (meta[2] or '') ~= ARGV[3] then return { 'missing' } end
if marks[1] and tonumber(ARGV[2]) <= tonumber(marks[1]) then
  -- The number is written again, because a WAIT after this call covers only writes of the same connection.
  redis.call('HSET', KEYS[3], 'in:' .. ARGV[1], marks[1])
  return { 'received-before' }
end
local last, count, cents, entries = redis.call('LINDEX', KEYS[2], -1), #ARGV - 3, 0, {}
local sum = last and tonumber(string.match(last, ':(%d+)$')) or 0
for i = 4, #ARGV do
  local amount = string.match(ARGV[i], '^%d+:([1-9]%d*)$')
  if not amount then
    return redis.error_reply('BADPACKET ARGV[' .. i .. '] is not <packetId>:<cents> with 1 cent or more, nothing was changed')
  end
  cents = cents + amount
  entries[i - 3] = ARGV[i] .. ':' .. format_number(sum + cents)
end
if sum + cents > 9007199254740991 then
  return redis.error_reply('BADSUM the cents of all packets in this bucket would exceed 2^53 - 1; nothing was changed')
end
redis.call('LLEN', KEYS[4])
local closed = state == 'closed'
redis.call('HSET', KEYS[3], 'in:' .. ARGV[1], ARGV[2], 'at', now_text)
if closed then
  redis.call('RPUSH', KEYS[4], unpack(entries))
  redis.call('HINCRBY', KEYS[1], 'refundedCents', format_number(cents))
  redis.call('HINCRBY', KEYS[1], 'refundedPackets', count)
else
  redis.call('RPUSH', KEYS[2], unpack(entries))
end
redis.call('HINCRBY', KEYS[1], 'heldCents', format_number(cents))
redis.call('HINCRBY', KEYS[1], 'receivedCents', format_number(cents))
redis.call('HINCRBY', KEYS[1], 'receivedPackets', count)
return { 'received' }
