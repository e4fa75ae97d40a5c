--[[
list-dead: read a page of dead letters, the oldest first.

KEYS[1]  dead   stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:dead:<group>
ARGV[1]  after  str     id before the page; '0' for a page that begins with the first dead letter
ARGV[2]  until  str     last id of the page; '+' for the last dead letter
ARGV[3]  count  int 1..500

Returns {newest, rows}
  newest  str  id of the newest dead letter of this range; '' if the range is empty
  rows    str  id, payload, key, operation, original id, error, attempts, first delivery (ms) of each

O(count). TTL: untouched. Clock: not read. Replay: reads again.
]]
-- @include own-fields or foreign-fields
local newest = redis.call('XREVRANGE', KEYS[1], ARGV[2], '(' .. ARGV[1], 'COUNT', 1)[1]
local rows = { newest and newest[1] or '' }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], ARGV[2], 'COUNT', ARGV[3])) do
  local fields = entry[2]
  -- The first four fields are about the dead letter. The fields of the original entry follow.
  local payload, key, operation = read_fields(fields, 9)
  for _, text in ipairs({ entry[1], payload, key, operation, fields[2], fields[4], fields[6], fields[8] }) do rows[#rows + 1] = text end
end
return rows
