--[[
settle-payouts: acknowledge and delete payout rows whose money is booked.

KEYS[1]    outbox    stream     <prefix>:red-packet:{<activity>}:outbox
ARGV[1]    group     str        consumer group of the payout workers
ARGV[2..]  entryIds  list(str)  at most 1,000 stream entry ids

Returns settled
  settled  int   rows that were still there

O(entryIds). TTL: untouched. Clock: none. Replay: finds nothing left to settle.
]]
if #ARGV < 2 then return 0 end
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
