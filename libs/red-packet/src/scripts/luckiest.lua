--[[
luckiest: read the largest packet that a bucket (shard of an activity) has granted; of equal packets, the one that was granted first.

KEYS[1]  meta  hash  <prefix>:red-packet:{<partition>}:meta:<activity>

Returns {userId, packetId, amountCents, grantedAtMs, lost}
  userId       str   '' before the first grant
  packetId     str   digits; '' before the first grant
  amountCents  str   digits
  grantedAtMs  str   digits
  lost         str   '1' if the other fields may be wrong, because void-grant has voided the grant of a largest packet, or has
                     stored one that may be larger. Then only a search of all grants finds the largest packet

O(1). TTL: untouched. Clock: none. Replay: reads again.
]]
local best = redis.call('HMGET', KEYS[1], 'bestUser', 'bestPacket', 'bestCents', 'bestAt', 'bestLost')
return { best[1] or '', best[2] or '', best[3] or '0', best[4] or '0', best[5] or '0' }
