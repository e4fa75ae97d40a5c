--[[
read-config: read the number of partitions of a stream, and its groups, without storing anything.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config, as in the script announce

Returns {partitions, paused, names}
  partitions  int  the highest number that any process has stored; 0 if there is none
  paused      int  number of groups that are paused; these come first
  names       str  names of the paused groups, then the names of all groups that were stored

O(groups). TTL: untouched. Clock: not read. Replay: reads again.
]]
local reply, groups, all = { 0, 0 }, {}, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  groups[#groups + 1] = string.match(all[i], '^group:(.*)$')
  if all[i] == 'partitions' then reply[1] = tonumber(all[i + 1]) or 0 end
  if all[i + 1] == '1' then reply[#reply + 1] = string.match(all[i], '^paused:(.*)$') end
end
reply[2] = #reply - 2
for _, name in ipairs(groups) do reply[#reply + 1] = name end
return reply
