--[[
publish: add a message, unless an earlier call of the operation has added it or the stream is full.

KEYS[1]  stream      stream       <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  waiters     string       ...:waiters; also the name of the sharded channel
KEYS[3]  operation   string(str)  ...:operation:<operation>
ARGV[1]  payload     str          JSON
ARGV[2]  key         str          '' for a message without a key
ARGV[3]  name        str          operation id of the caller; '' if the caller gave none
ARGV[4]  retainMs    int >= 1     how long the operation is remembered
ARGV[5]  maxLength   int          messages at which the stream is full; 0 for no limit

Returns {status, id}
  status  1 published | 2 an earlier call of the operation has published the message | 0 the stream is full, nothing was changed
  id      str  id of the entry; if the stream is full, its length

O(1). TTL: the operation's; the stream has none, its groups empty it. Clock: Redis. Replay: within retainMs, returns the id of the
first call.
]]
local first = redis.call('GET', KEYS[3])
if first then return { 2, first } end
if ARGV[5] ~= '0' then
  local length = redis.call('XLEN', KEYS[1])
  if length >= tonumber(ARGV[5]) then return { 0, tostring(length) } end
end
local id
if ARGV[2] == '' and ARGV[3] == '' then
  id = redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1])
else
  id = redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1], 'key', ARGV[2], 'operation', ARGV[3])
end
redis.call('SET', KEYS[3], id, 'PX', ARGV[4])
-- Without permission for the channel, the message is published all the same, and consumers find it when they poll.
if redis.call('DEL', KEYS[2]) == 1 then redis.pcall('SPUBLISH', KEYS[2], 'published') end
return { 1, id }
