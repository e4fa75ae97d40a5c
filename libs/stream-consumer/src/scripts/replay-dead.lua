--[[
replay-dead: publish dead letters again, for the group that gave them up.

KEYS[1]  dead     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
KEYS[2]  stream   stream  ...:stream
KEYS[3]  waiters  string  ...:waiters; also the name of the sharded channel
ARGV[1]  group    str
ARGV[2..]  ids    list(str)

Returns {replayed}
  replayed  int  those that were there

O(ids). TTL: none, the group empties the stream. Clock: not read. Replay: finds them gone.
]]
redis.call('XLEN', KEYS[2])
local replayed = 0
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    local payload, key, operation = fields_of(entry[2])
    redis.call('XADD', KEYS[2], '*', 'payload', payload, 'key', key, 'operation', operation, 'group', ARGV[1])
    replayed = replayed + redis.call('XDEL', KEYS[1], ARGV[i])
  end
end
if replayed > 0 and redis.call('DEL', KEYS[3]) == 1 then redis.pcall('SPUBLISH', KEYS[3], 'replayed') end
return { replayed }
