--[[
list-dead: read a page of dead letters, the oldest first.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
ARGV[1]  after  str     id of a dead letter, exclusive; '0' to begin
ARGV[2]  count  int 1..500

Returns {rows}
  rows  str  id, payload, key, operation, original id, error, attempts, first delivery (ms) of each

O(count). TTL: untouched. Clock: not read. Replay: reads again.
]]
-- @include own-fields or foreign-fields
local rows = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  local fields = entry[2]
  -- The fields of the entry as it was come behind four of ours.
  local payload, key, operation = read_fields(fields, 9)
  for _, text in ipairs({ entry[1], payload, key, operation, fields[2], fields[4], fields[6], fields[8] }) do rows[#rows + 1] = text end
end
return rows
