--[[
replay-dead: publish dead letters again as new entries, only for the group to which they belong, and delete them.

KEYS[1]  dead     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
KEYS[2]  stream   stream  ...:stream
KEYS[3]  woken    string  ...:woken; readers listen to a channel of the same name
ARGV[1]  group    str
ARGV[2..]  ids    list(str)

Returns {replayed}
  replayed  int  ids that existed and were published

O(ids). TTL: untouched. Clock: not read. Replay: publishes nothing more, and does not count the ids again.
]]
-- @include fields
-- Dead letters with a TTL belong to the stream of another program. If that stream has expired, nothing is replayed, because XADD would
-- create it again without a TTL. PTTL may return 0 in the last ms of a key.
if redis.call('XLEN', KEYS[2]) == 0 and redis.call('PTTL', KEYS[1]) >= 0 and redis.call('EXISTS', KEYS[2]) == 0 then return { 0 } end
local replayed = 0
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    local row = { FOR_GROUP, ARGV[1] }
    -- The first four fields are about the dead letter. The fields of the original entry follow.
    for at = 9, #entry[2], 2 do
      if entry[2][at] ~= FOR_GROUP then
        row[#row + 1] = entry[2][at]
        row[#row + 1] = entry[2][at + 1]
      end
    end
    redis.call('XADD', KEYS[2], '*', unpack(row))
    replayed = replayed + redis.call('XDEL', KEYS[1], ARGV[i])
  end
end
if replayed > 0 and redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('SET', KEYS[3], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[3], 'replayed')
end
return { replayed }
