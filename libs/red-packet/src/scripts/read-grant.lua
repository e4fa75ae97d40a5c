--[[
read-grant: read the packet of a user.

KEYS[1]  grants  hash  <prefix>:red-packet:{<partition>}:grants:<activity>
ARGV[1]  userId  str   1 to 256 characters

Returns {grant}
  grant  str   '<packetId>:<cents>:<ms>'; with ':l' at its end if void-grant copied it from the ledger; '' if the user has no packet

O(1). TTL: untouched. Clock: none. Replay: reads again.
]]
return { redis.call('HGET', KEYS[1], ARGV[1]) or '' }
