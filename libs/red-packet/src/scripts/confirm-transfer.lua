--[[
confirm-transfer: delete the record of a transfer whose packets have arrived.

KEYS[1]  moves     hash  <prefix>:red-packet:{<source>}:moves
ARGV[1]  to        int   the bucket that has received them
ARGV[2]  sequence  str   number of the transfer

Returns forgotten
  forgotten  1 | 0   0: no transfer is on record, or another one

O(1). TTL: untouched. Clock: none. Replay: finds it forgotten.
]]
local record = redis.call('HGET', KEYS[1], 'out:' .. ARGV[1])
if not record or string.match(record, '^(%d+)|') ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], 'out:' .. ARGV[1])
