--[[
remove-group: delete a group and its dead letters.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
KEYS[4]  due       zset    ...:due:<group>
KEYS[5]  tries     hash    ...:tries:<group>
KEYS[6]  heads     hash    ...:heads:<group>
KEYS[7]  dead      stream  ...:dead:<group>
KEYS[8]  unsettled set     ...:unsettled:<group>
ARGV[1]  group     str

Returns {removed}
  removed  1 | 0  0 if there was no such group

O(entries of the group). TTL: none. Clock: not read. Replay: returns 0, because the group is removed already.
]]
-- @include errors
local removed = redis.pcall('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
-- Without the stream, the group does not exist either. After any other error, such as a missing permission, its keys must stay.
if failed(removed) and not string.find(removed.err, 'requires the key to exist', 1, true) then return removed end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
return { failed(removed) and 0 or removed }
