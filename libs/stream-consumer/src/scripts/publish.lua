--[[
publish: add a message, unless an earlier call of the operation has added it or the stream is full.

KEYS[1]  stream      stream       <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  woken       string       ...:woken; also the name of the sharded channel
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
local asleep = redis.call('EXISTS', KEYS[2]) == 0
-- Nobody would read the message before the next one. Servers without SPUBLISH raise an error. Their consumers look periodically.
local known, allowed = true, true
if asleep then known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', KEYS[2], 'published') end
if known and not allowed then
  return redis.error_reply('NOTALLOWED the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed')
end
local id
if ARGV[2] == '' and ARGV[3] == '' then
  id = redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1])
else
  id = redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1], 'key', ARGV[2], 'operation', ARGV[3])
end
redis.call('SET', KEYS[3], id, 'PX', ARGV[4])
-- The readers that sleep. They are not woken again until one of them has found that there is nothing more.
if asleep then
  redis.call('SET', KEYS[2], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[2], 'published')
end
return { 1, id }
