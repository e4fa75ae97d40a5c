--[[
confirm-transfer: delete the source's record of a transfer between buckets (shards of an activity), because the packets have arrived.

KEYS[1]  moves     hash  <prefix>:red-packet:{<partition>}:moves:<source>
ARGV[1]  to        int   index of the bucket that has received the packets
ARGV[2]  sequence  str   number of the transfer

Returns forgotten
  forgotten  1 | 0   0: there is no record of a transfer to this bucket, or it has another number

O(1). TTL: untouched. Clock: none. Replay: returns 0 and changes nothing.
]]
local record = redis.call('HGET', KEYS[1], 'out:' .. ARGV[1])
if not record or string.match(record, '^(%d+)|') ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], 'out:' .. ARGV[1])
