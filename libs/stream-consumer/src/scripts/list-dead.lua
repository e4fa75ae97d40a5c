--[[
list-dead: show a page of dead letters, the oldest first.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
ARGV[1]  after  str     id of a dead letter, exclusive; '0' to begin
ARGV[2]  count  int 1..500

Returns {rows}
  rows  str  id, payload, key, operation, original id, error, attempts, first delivery (ms) of each

O(count). TTL: untouched. Clock: not read. Replay: reads again.
]]
local rows = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  local payload, key, operation = fields_of(entry[2])
  local found = {}
  -- The first of a name is ours: the fields of the entry as it was come behind.
  for i = #entry[2] - 1, 1, -2 do found[entry[2][i]] = entry[2][i + 1] end
  add_fresh(rows, entry[1], payload, key, operation)
  add_fresh(rows, found['original-id'] or '', found['error'] or '', found['attempts'] or '0', found['first-seen-ms'] or '0')
end
return rows
