--[[
list-groups: read the names of the groups of a partition.

KEYS[1]  stream  stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream

Returns {groups}
  groups  str  names of the groups

O(groups). TTL: untouched. Clock: not read. Replay: reads again.
]]
-- @include errors
local groups, names = redis.pcall('XINFO', 'GROUPS', KEYS[1]), {}
if failed(groups) then return is_gone(groups) and names or groups end
for _, row in ipairs(groups) do names[#names + 1] = row[2] end
return names
