--[[
send-packets: move packets from the pool of a bucket (shard of an activity) to a record of a transfer to another bucket. confirm-transfer
deletes the record when the packets have arrived.

KEYS[1]  meta    hash       <prefix>:red-packet:{<partition>}:meta:<source>
KEYS[2]  pool    list(str)  <prefix>:red-packet:{<partition>}:pool:<source>
KEYS[3]  moves   hash       <prefix>:red-packet:{<partition>}:moves:<source>
ARGV[1]  to      int        index of the other bucket
ARGV[2]  most    int        most packets to move, 0 to 500; at most half of the pool, rounded up, is moved. 0: only return the record
ARGV[3]  restMs  int        how long packets stay in this bucket after a transfer to it, ms

Returns {status, record, expiresAtMs}
  status       'sent' | 'resting' | 'nothing'   sent: by this call, or by an earlier call whose record still exists; resting: not
               sent, because of restMs; nothing: not sent, because the pool is empty, the bucket is neither open nor
               paused, or `most` is 0
  record       str   '<sequence>|<packetId>:<cents>,...', '' if nothing was sent
  expiresAtMs  str   expiresAtMs of the activity of the packets; '' if nothing was sent

O(most). TTL: untouched. Clock: Redis. Replay: until confirm-transfer, returns the record that the first
call made; after that, may make another one.
]]
-- @include clock
-- @include cents
local meta = redis.call('HMGET', KEYS[1], 'state', 'heldCents', 'expiresAtMs')
local found = redis.call('HGET', KEYS[3], 'out:' .. ARGV[1])
if found then
  -- The record is written again, because a WAIT after this call covers only writes of the same connection.
  redis.call('HSET', KEYS[3], 'out:' .. ARGV[1], found)
  return { 'sent', found, meta[3] or '' }
end
local pooled = redis.call('LLEN', KEYS[2])
if meta[1] ~= 'open' and meta[1] ~= 'paused' or pooled == 0 or ARGV[2] + 0 < 1 then return { 'nothing', '', '' } end
local marks = redis.call('HMGET', KEYS[3], 'at', 'sequence')
local came = tonumber(marks[1] or '0')
if now_ms >= came and now_ms - came < tonumber(ARGV[3]) then return { 'resting', '', '' } end
local take = math.min(tonumber(ARGV[2]), math.ceil(pooled / 2), 500)
local entries, cents, packets = redis.call('LRANGE', KEYS[2], -take, -1), 0, {}
for i, entry in ipairs(entries) do
  local packet, amount = string.match(entry, '^(%d+:(%d+)):%d+$')
  if not packet then
    return redis.error_reply('BADPACKET the list of packets is damaged: an entry is not <packetId>:<cents>:<sum>; nothing was changed')
  end
  packets[i], cents = packet, cents + amount
end
if cents > tonumber(meta[2]) then
  return redis.error_reply('BADMETA the meta hash is damaged: heldCents is less than the cents to move; nothing was changed')
end
-- The number of a transfer comes from the clock. So it is new even if a failover has lost the last numbers, unless the clock of the new
-- master is behind.
local sequence = math.max(now_us, (marks[2] or 0) + 1)
local record = format_number(sequence) .. '|' .. table.concat(packets, ',')
redis.call('HSET', KEYS[3], 'out:' .. ARGV[1], record, 'sequence', format_number(sequence))
redis.call('LTRIM', KEYS[2], 0, -take - 1)
redis.call('HINCRBY', KEYS[1], 'heldCents', format_number(-cents))
redis.call('HINCRBY', KEYS[1], 'sentCents', format_number(cents))
redis.call('HINCRBY', KEYS[1], 'sentPackets', take)
return { 'sent', record, meta[3] or '' }
