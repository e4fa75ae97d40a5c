--[[
outbox-page: read a page of an outbox: payouts that are neither settled nor dead-lettered.

KEYS[1]  outbox  stream        <prefix>:red-packet:{<activity>}:outbox
ARGV[1]  after   str           id of the last entry of the previous page; '0-0' for the first page
ARGV[2]  count   int 1..1,000  most entries of the page

Returns {entryId, userId, packetId, amountCents, ...}
  entryId      str   id of the stream entry
  userId       str   '' if the entry has no such field
  packetId     str   digits; '' if the entry has no such field
  amountCents  str   digits; '' if the entry has no such field

O(count). TTL: untouched. Clock: none. Replay: reads again.
]]
local rows = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  rows[#rows + 1] = entry[1]
  rows[#rows + 1] = fields['user'] or ''
  rows[#rows + 1] = fields['packet'] or ''
  rows[#rows + 1] = fields['cents'] or ''
end
return rows
