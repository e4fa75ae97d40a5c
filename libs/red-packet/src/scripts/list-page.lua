--[[
list-page: read a page of a list of packets: of a pool or of refunds.

KEYS[1]  packets  list(str)     <prefix>:red-packet:{<partition>}:pool:<activity> or :refunds
ARGV[1]  from     int >= 0      index of the first packet
ARGV[2]  count    int 1..1,000  number of packets

Returns {packet, ...}
  packet  str   '<packetId>:<cents>:<sum>'; sum: running sum of the cents that were appended, from which the cents of a pool are
               computed; 0 for a packet that void-grant refunded

O(from + count). TTL: untouched. Clock: none. Replay: reads again.
]]
return redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
