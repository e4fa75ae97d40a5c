--[[
drop-dead: delete dead letters.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
ARGV[1..]  ids  list(str)

Returns {dropped}
  dropped  int  ids that existed

O(ids). TTL: untouched. Clock: not read. Replay: finds them gone.
]]
local ids = {}
for i = 1, #ARGV do ids[i] = ARGV[i] end
return { redis.call('XDEL', KEYS[1], unpack(ids)) }
