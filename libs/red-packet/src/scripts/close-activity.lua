--[[
close-activity: close a bucket (shard of an activity) for good. The packets in its pool become refunds.

KEYS[1]  meta     hash      <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]  pool     list(str) <prefix>:red-packet:{<partition>}:pool:<activity>
KEYS[3]  refunds  list(str) <prefix>:red-packet:{<partition>}:refunds:<activity>
KEYS[4]  grants   hash      <prefix>:red-packet:{<partition>}:grants:<activity>
ARGV[1]  atEnd    int       1 to close the bucket only if its end has passed | 0

Returns {status}
  status  'closed' | 'closed-before' | 'not-ended' | 'draft' | 'missing' | 'spread:<buckets>'   closed: by this call;
          closed-before: by an earlier call; all others: not closed. missing: there is no such bucket; spread: KEYS[1] is the
          root of an activity with several buckets

O(1); if packets were refunded before, O(these packets). TTL: untouched. Clock: Redis. Replay: returns closed-before, and
writes the state again.
]]
-- @include now-text
-- @include cents
local meta = redis.call('HMGET', KEYS[1], 'state', 'heldCents', 'refundedCents', 'endsAtMs')
if not meta[1] then return { 'missing' } end
if meta[1] == 'closed' then
  -- The state may be closed already. It is written again, because a WAIT after this call covers only writes of the same connection.
  redis.call('HSET', KEYS[1], 'state', 'closed')
  return { 'closed-before' }
end
if meta[1] ~= 'open' and meta[1] ~= 'paused' then return { meta[1] } end
if ARGV[1] == '1' and now_ms < tonumber(meta[4]) then return { 'not-ended' } end
local pooled, before = redis.call('LLEN', KEYS[2]), redis.call('LLEN', KEYS[3])
if pooled > 0 then
  local cents = sum_cents(redis.call('LINDEX', KEYS[2], 0), redis.call('LINDEX', KEYS[2], -1))
  local granted = tonumber(string.match(redis.call('HGET', KEYS[4], '') or '', '^(%d+):') or '-1')
  if not cents or cents + granted + (meta[3] or 0) ~= tonumber(meta[2]) then
    return redis.error_reply(
      'BADPOOL packets left, granted and refunded do not add up to heldCents, or are damaged; nothing was changed. Run audit()'
    )
  end
  -- Packets that were refunded before are added to the pool, which then becomes the list of refunds by a rename.
  for from = 0, before - 1, 1000 do
    redis.call('RPUSH', KEYS[2], unpack(redis.call('LRANGE', KEYS[3], from, from + 999)))
  end
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('HINCRBY', KEYS[1], 'refundedCents', format_number(cents))
  redis.call('HINCRBY', KEYS[1], 'refundedPackets', pooled)
end
redis.call('HSET', KEYS[1], 'state', 'closed', 'closedAtMs', now_text)
return { 'closed' }
