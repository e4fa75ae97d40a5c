--[[
drop-dead: delete dead letters.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
KEYS[2]  woken  string  ...:woken; readers listen to a channel of the same name
ARGV[1..]  ids  list(str)

Returns {dropped}
  dropped  int  ids that existed and were deleted

O(ids). TTL: untouched. Clock: not read. Replay: deletes nothing more, and does not count the ids again.
]]
local ids = {}
for i = 1, #ARGV do ids[i] = ARGV[i] end
local dropped = redis.call('XDEL', KEYS[1], unpack(ids))
-- Wakes the consumers, so that they also publish the changed statistics of the group.
if dropped > 0 and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('SET', KEYS[2], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[2], 'dropped')
end
return { dropped }
