--[[
publish: add a message, unless an earlier call with the same operation id has added it, or the partition is full.

KEYS[1]  stream      stream       <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  woken       string       ...:woken; readers listen to a channel of the same name
KEYS[3]  operation   string(str)  ...:operation:<operation>
ARGV[1]  payload     str          JSON
ARGV[2]  key         str          '' for a message without a key
ARGV[3]  name        str          operation id of the caller; '' if the caller gave none
ARGV[4]  retainMs    int >= 1     how long the operation id is remembered, ms
ARGV[5]  maxLength   int          maximum number of messages in the partition; 0 for no limit

Returns {status, id}
  status  1: published | 2: an earlier call with the operation id has published it | 0: full, nothing was changed
  id      str  id of the entry; if the partition is full, its number of messages

O(1). TTL: retainMs for `operation`; the stream has no TTL, because its groups empty it. Clock: Redis. Replay: within retainMs,
returns the id of the first call.
]]
local first = redis.call('GET', KEYS[3])
if first then return { 2, first } end
if ARGV[5] ~= '0' then
  local length = redis.call('XLEN', KEYS[1])
  if length >= tonumber(ARGV[5]) then return { 0, tostring(length) } end
end
local asleep = redis.call('EXISTS', KEYS[2]) == 0
-- Without permission to publish, sleeping readers would not notice the message. On a server without SPUBLISH, the check raises an error,
-- and readers poll.
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
-- Wakes the readers. While the key `woken` exists, further publishes wake nobody. A reader that finds no more messages deletes the key.
if asleep then
  redis.call('SET', KEYS[2], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[2], 'published')
end
return { 1, id }
