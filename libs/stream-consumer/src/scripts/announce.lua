--[[
announce: store the number of partitions of a stream, and a group that reads the stream; return the highest number and all groups.

KEYS[1]  config      hash  <prefix>:stream-consumer:{<stream>}:config; `partitions`, and `group:<name>` for each group. Its name is that of
                           a sharded channel, which reports changes
ARGV[1]  partitions  int >= 1
ARGV[2]  group       str   '' for a publisher

Returns {partitions, groups}
  partitions  int  the highest number that any process has stored
  groups      str  names of all groups that were stored

O(groups). TTL: none, the stream's name owns it. Clock: not read. Replay: stores the same.
]]
local stored = tonumber(redis.call('HGET', KEYS[1], 'partitions') or '0') or 0
local most = math.max(tonumber(ARGV[1]), stored)
local added = redis.call('HSET', KEYS[1], 'partitions', most)
if ARGV[2] ~= '' then added = added + redis.call('HSET', KEYS[1], 'group:' .. ARGV[2], '1') end
if added > 0 or most > stored then redis.pcall('SPUBLISH', KEYS[1], 'changed') end
local reply = { most }
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do reply[#reply + 1] = string.match(field, '^group:(.*)$') end
return reply
