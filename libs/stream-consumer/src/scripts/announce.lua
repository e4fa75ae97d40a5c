--[[
announce: store the number of partitions of a stream, and a group that reads the stream. Return the highest number of partitions, all
groups, and which of them are paused.

KEYS[1]  config      hash  <prefix>:stream-consumer:{<stream>}:config; `partitions`, `group:<name>` for each group, and `paused:<name>` as
                           in the script pause. `group:<name>` is 1; for a group with `atEnd` that is not opened yet, `end <partitions>`.
                           Changes are published on a sharded channel of the same name
ARGV[1]  partitions  int >= 1
ARGV[2]  group       str   '' for a publisher
ARGV[3]  paused      int   1 if the caller knows that the group is paused, so that a lost pause is stored again | 0
ARGV[4]  atEnd       int   1 if the group should begin after the present messages, and this process has not opened it yet | 0

Returns {partitions, paused, atEnd, names}
  partitions  int  the highest number that any process has stored
  paused      int  number of groups that are paused; these come first
  atEnd       int  number of partitions that the group begins to read after their present messages; 0 without ARGV[4]
  names       str  names of the paused groups, then the names of all groups that were stored

O(groups). TTL: none, it belongs to the stream. Clock: not read. Replay: stores the same.
]]
local stored = tonumber(redis.call('HGET', KEYS[1], 'partitions') or '0') or 0
local most = math.max(tonumber(ARGV[1]), stored)
local added = redis.call('HSET', KEYS[1], 'partitions', most)
local at_end, field = 0, 'group:' .. ARGV[2]
if ARGV[4] == '1' then
  added = added + redis.call('HSETNX', KEYS[1], field, 'end ' .. most)
  at_end = tonumber(string.match(redis.call('HGET', KEYS[1], field), '^end (%d+)$') or '0')
elseif ARGV[2] ~= '' then
  added = added + redis.call('HSET', KEYS[1], field, '1')
end
local is_lost = ARGV[3] == '1' and not redis.call('HGET', KEYS[1], 'paused:' .. ARGV[2])
if is_lost then added = added + redis.call('HSET', KEYS[1], 'paused:' .. ARGV[2], '1') end
if added > 0 or most > stored then redis.pcall('SPUBLISH', KEYS[1], 'changed') end
local reply, groups, all = { most, 0, at_end }, {}, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  groups[#groups + 1] = string.match(all[i], '^group:(.*)$')
  if all[i + 1] == '1' then reply[#reply + 1] = string.match(all[i], '^paused:(.*)$') end
end
reply[2] = #reply - 3
for _, name in ipairs(groups) do reply[#reply + 1] = name end
return reply
