--[[
settle-payout: remove the row of a payout that was paid from the outbox, and count it in its bucket.

KEYS[1]  outbox    stream  <prefix>:red-packet:{<partition>}:outbox
KEYS[2]  meta      hash    <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  rowId     str     id of the stream entry
ARGV[2]  owner     str     field `activity` of the row; if KEYS[2] has another one, it is missing or belongs to a later activity

Returns settled
  settled  1 | 0   0: the outbox has no such row, because it was settled or dead-lettered before

O(1). TTL: untouched. Clock: none. Replay: returns 0 and changes nothing.
]]
if not redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1] then return 0 end
if redis.call('HGET', KEYS[2], 'activity') == ARGV[2] then redis.call('HINCRBY', KEYS[2], 'settledRows', 1) end
return redis.call('XDEL', KEYS[1], ARGV[1])
