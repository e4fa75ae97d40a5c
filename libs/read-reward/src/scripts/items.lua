--[[
items: read a page of the grants of a user's period: the items that count, with their points, in no particular order.

KEYS[1]  state   hash  <prefix>:read-reward:{<partition>}:state:<rule>:<user>
ARGV[1]  cursor  str   '0', or next of the page before
ARGV[2]  count   int   approximate number of items on a page, 1 or more; few items are returned on one page

Returns {next, from, to, items}
  next   str   '0' after the last page
  from   str   digits: start of the period, ms since 1970; '0' without items if there is no current period
  to     str   digits: end of the period, ms since 1970; '0' if there is no period
  items  flat  per item three: item id (str), number of the grant (digits), points (digits)

O(count), or O(items) of a small hash. TTL: untouched. Clock: Redis. Replay: reads again; a page may repeat items of the page before.
]]
-- @include clock
local head = redis.call('HGET', KEYS[1], '')
local from, to = string.match(head or '', '^(%d+):(%d+):')
if not from or tonumber(to) <= now_ms then return { '0', '0', '0' } end
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1], from, to }
for i = 1, #page[2], 2 do
  local item, seq, points = page[2][i], string.match(page[2][i + 1], '^(%d+):%d+:(%d+):')
  if item ~= '' and seq then
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = item, seq, points
  end
end
return reply
