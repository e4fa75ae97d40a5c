--[[
restore-payouts: write payout rows again that another program has deleted, and correct the number of settled rows of the bucket. The
caller has counted all rows, and has compared the grants (packets with their winners) with the ledger.

KEYS[1]    outbox   stream     <prefix>:red-packet:{<partition>}:outbox
KEYS[2]    meta     hash       <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[3]    grants   hash       <prefix>:red-packet:{<partition>}:grants:<activity>
ARGV[1]    group    str        consumer group of the payouts
ARGV[2]    repairs  int        number of earlier repairs of the bucket, as an earlier call returned it; -1 only returns this number
ARGV[3]    settled  int >= 0   rows that count as settled from now on, because they are lost and the ledger has paid them
ARGV[4..]  rows     list(str)  user and grant '<packet>:<cents>:<ms>' of each row, for 0 to 100 rows

Returns repairs
  repairs  int   number of repairs of the bucket; -1: nothing was changed, because there is no such bucket, or another caller has
           repaired it since ARGV[2] was read

O(rows). TTL: untouched. Clock: Redis, for the ids of the rows. Replay: returns -1 and changes nothing.
]]
local meta = redis.call('HMGET', KEYS[2], 'activity', 'repairs', 'settledRows')
local repairs = tonumber(meta[2] or '0')
if not meta[1] then return -1 end
if ARGV[2] == '-1' then return repairs end
if repairs ~= tonumber(ARGV[2]) then return -1 end
redis.call('HLEN', KEYS[3])
local created = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, '^BUSYGROUP') then return created end
-- The repair is counted first. If the rest fails, the next repair finds that rows are still lost.
redis.call('HSET', KEYS[2], 'repairs', string.format('%.0f', repairs + 1),
  'settledRows', string.format('%.0f', (meta[3] or 0) + ARGV[3]))
for i = 4, #ARGV, 2 do
  -- A grant that was voided since the count gets no payout.
  if redis.call('HGET', KEYS[3], ARGV[i]) == ARGV[i + 1] then
    redis.call('XADD', KEYS[1], '*', 'activity', meta[1], 'user', ARGV[i], 'grant', ARGV[i + 1])
  end
end
return repairs + 1
