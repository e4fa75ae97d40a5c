--[[
announce: store the number of partitions of a stream, and a group that reads the stream; return the highest number, all groups, and
which of them are paused.

KEYS[1]  config      hash  <prefix>:stream-consumer:{<stream>}:config; `partitions`, `group:<name>` for each group, and `paused:<name>` as
                           in pause. `group:<name>` is `end <partitions>` until a group with `atEnd` has been opened, else 1.
                           Its name is that of a sharded channel, which reports changes
ARGV[1]  partitions  int >= 1
ARGV[2]  group       str   '' for a publisher
ARGV[3]  paused      int   1 if the caller knows that the group is paused: the pause is written again if Redis has lost it | 0
ARGV[4]  atEnd       int   1 if the group begins at the end of the partitions that there are when it is stored, and this process has not
                           opened it yet | 0

Returns {partitions, paused, atEnd, names}
  partitions  int  the highest number that any process has stored
  paused      int  number of groups that are paused; these come first
  atEnd       int  number of partitions at whose end the group begins if it is missing there; 0 without ARGV[4]
  names       str  names of the paused groups, then the names of all groups that were stored

O(groups). TTL: none, the stream's name owns it. Clock: not read. Replay: stores the same.
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
