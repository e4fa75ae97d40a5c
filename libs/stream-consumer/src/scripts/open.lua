--[[
open: have a group on a stream, from the stream's first entry on.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
KEYS[4]  due       zset    ...:due:<group>
KEYS[5]  tries     hash    ...:tries:<group>
KEYS[6]  heads     hash    ...:heads:<group>
ARGV[1]  group     str
ARGV[2]  makes     int     1 where the stream may be made | 0

Returns {made}
  made  1 made | 0 it was there | 2 there is no stream. Made: what was noted of an earlier one is forgotten, its sessions too

O(1). TTL: none, the group owns its keys. Clock: not read. Replay: finds the group.
]]
if ARGV[2] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return { 2 } end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err then
  if string.find(made.err, 'BUSYGROUP') then return { 0 } end
  return made
end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
return { 1 }
