--[[
settle-payouts: acknowledge and delete payout rows whose money is booked.

KEYS[1]    outbox    stream     <prefix>:red-packet:{<activity>}:outbox
ARGV[1]    group     str        consumer group of the payout workers
ARGV[2..]  entryIds  list(str)  at most 1,000 stream entry ids

Returns settled
  settled  int   rows that were claimed and still there

O(entryIds). TTL: untouched. Clock: none. Replay: finds nothing left to settle.
]]
-- A row that nobody has claimed is not acknowledged, so it is not deleted either: it is still to be paid.
local settled = 0
for i = 2, #ARGV do
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) == 1 then
    settled = settled + redis.call('XDEL', KEYS[1], ARGV[i])
  end
end
return settled
