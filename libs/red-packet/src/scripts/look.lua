--[[
look: read whether a bucket has open or dead-lettered payouts, and what its state depends on. Costs less than status.

KEYS[1]  meta       hash    <prefix>:red-packet:{<activity>}:meta
KEYS[2]  outbox     stream  <prefix>:red-packet:{<activity>}:outbox
KEYS[3]  dead       stream  <prefix>:stream-consumer:{<activity>}:dead:payouts:<outbox>
ARGV[1]  countDead  int     1 to count dead-lettered payouts | 0

Returns {rows, deadRows, state, endsAtMs, expiresAtMs, forgetAtMs}
  rows         int   payouts that are neither settled nor dead-lettered
  deadRows     int   dead-lettered payouts; 0 if countDead is 0
  state        str   as stored: 'draft' | 'open' | 'paused' | 'closed' | 'spread:<buckets>'; '' if there is no such bucket
  endsAtMs     str   when grabs end, ms since the epoch; '0' if there is no such bucket, like the next two
  expiresAtMs  str   end of the retention, ms since the epoch
  forgetAtMs   str   when the keys of a settled bucket expire, ms since the epoch; '0' if it is not settled

O(1). TTL: untouched. Clock: none. Replay: reads again.
]]
local meta = redis.call('HMGET', KEYS[1], 'state', 'endsAtMs', 'expiresAtMs', 'forgetAtMs')
local dead_rows = ARGV[1] == '1' and redis.call('XLEN', KEYS[3]) or 0
return { redis.call('XLEN', KEYS[2]), dead_rows, meta[1] or '', meta[2] or '0', meta[3] or '0', meta[4] or '0' }
