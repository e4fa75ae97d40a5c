--[[
open: create a group on a stream, unless the group exists.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
KEYS[4]  due       zset    ...:due:<group>
KEYS[5]  tries     hash    ...:tries:<group>
KEYS[6]  heads     hash    ...:heads:<group>
KEYS[7]  unsettled set     ...:unsettled:<group>
ARGV[1]  group     str
ARGV[2]  makes     int     1 if the stream may be created | 0: another program creates it
ARGV[3]  from      str     id of the entry after which the group begins; '0' for the first entry, '$' for the next entry that is added

Returns {made, from}
  made  1: the group was created, and data of an earlier group of this name was deleted | 0: the group exists |
        2: the stream does not exist and may not be created
  from  str  ARGV[3], or the last id of the stream for '$'. Pass this value if the group must be created again later

O(1). TTL: none, the group owns its keys. Clock: not read. Replay: returns 0, the group exists.
]]
local from, is_there = ARGV[3], redis.call('EXISTS', KEYS[1]) == 1
if from == '$' then
  from = '0'
  local stream = is_there and redis.call('XINFO', 'STREAM', KEYS[1]) or {}
  for i = 1, #stream, 2 do
    if stream[i] == 'last-generated-id' then from = stream[i + 1] end
  end
end
if ARGV[2] == '0' and not is_there then return { 2, from } end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], from, 'MKSTREAM')
if made.err then
  if string.find(made.err, 'BUSYGROUP') then return { 0, from } end
  return made
end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
return { 1, from }
