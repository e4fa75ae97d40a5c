--[[
compare-refunds: note that the refunds of a closed bucket (shard of an activity) were compared with the ledger. Packets that the ledger has
paid are taken out of the refunds: their cents count as granted, and as void, because no user has them in Redis.

KEYS[1]    meta         hash       <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]    grants       hash       <prefix>:red-packet:{<partition>}:grants:<activity>
KEYS[3]    voids        hash       <prefix>:red-packet:{<partition>}:voids:<activity>
KEYS[4]    refunds      list(str)  <prefix>:red-packet:{<partition>}:refunds:<activity>
ARGV[1]    last         int        1 if all refunds of the bucket are compared after this call | 0
ARGV[2]    expiresAtMs  int        expiresAtMs of the activity that was compared; a later activity with the same id has another value
ARGV[3..]  entries      list(str)  0 to 100 entries of KEYS[4] whose packets the ledger has paid, '<packet>:<cents>:<sum>'

Returns {status, taken}
  status  'compared' | 'compared-before' | 'not-closed'   compared: by this call; the others: nothing was changed; not-closed: the
          bucket is not closed, or belongs to a later activity
  taken   int   entries that were removed from the refunds

O(entries * refunds). TTL: if the activity is settled, that of its other keys. Clock: none. Replay: returns compared-before after
the last call; before that, finds that the entries are gone and changes nothing.
]]
local meta = redis.call('HMGET', KEYS[1], 'state', 'compared', 'forgetAtMs', 'refundedCents', 'expiresAtMs')
if meta[1] ~= 'closed' or (meta[5] or '0') ~= ARGV[2] then return { 'not-closed', 0 } end
if meta[2] == '1' then return { 'compared-before', 0 } end
local sum, last_ms = string.match(redis.call('HGET', KEYS[2], '') or '', '^(%d+):(%d+)$')
if ARGV[3] and not sum then return redis.error_reply('LOSTGRANTS Redis has lost the winners of this activity; nothing was changed') end
for i = 3, #ARGV do
  if not string.find(ARGV[i], '^%d+:[1-9]%d*:%d+$') then
    return redis.error_reply('BADPACKET ARGV[' .. i .. '] is not <packet>:<cents>:<sum>, nothing was changed')
  end
end
redis.call('HLEN', KEYS[3])
local cents, taken = 0, 0
for i = 3, #ARGV do
  if redis.call('LREM', KEYS[4], 1, ARGV[i]) == 1 then
    local packet, amount = string.match(ARGV[i], '^(%d+):(%d+)')
    cents, taken = cents + amount, taken + 1
    redis.call('HSET', KEYS[3], packet, amount .. ':0:packet:')
  end
end
if taken > 0 then
  redis.call('HSET', KEYS[2], '', string.format('%.0f:', sum + cents) .. last_ms)
  redis.call('HINCRBY', KEYS[1], 'refundedCents', string.format('%.0f', -cents))
  redis.call('HINCRBY', KEYS[1], 'refundedPackets', -taken)
  redis.call('HINCRBY', KEYS[1], 'grantShift', taken)
  -- These packets count as granted without a payout row, so the number of expected rows is corrected.
  redis.call('HINCRBY', KEYS[1], 'rowShift', -taken)
  if meta[3] then redis.call('PEXPIREAT', KEYS[3], meta[3]) end
end
if ARGV[1] == '1' then redis.call('HSET', KEYS[1], 'compared', 1) end
return { 'compared', taken }
