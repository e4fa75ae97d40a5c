--[[
drop-dead: delete dead letters.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
ARGV[1..]  ids  list(str)

Returns {dropped}
  dropped  int  ids that existed and were deleted

O(ids). TTL: untouched. Clock: not read. Replay: deletes nothing more, and does not count the ids again.
]]
local ids = {}
for i = 1, #ARGV do ids[i] = ARGV[i] end
return { redis.call('XDEL', KEYS[1], unpack(ids)) }
