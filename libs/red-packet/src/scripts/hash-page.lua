--[[
hash-page: read a page of transfers between buckets, or of void grants.

KEYS[1]  hash    hash          <prefix>:red-packet:{<activity>}:moves or :voids
ARGV[1]  cursor  str           '0' for the first page, then what the last page returned
ARGV[2]  count   int 1..1,000  about how many fields

Returns {cursor, field, value, ...}
  cursor  str   '0' after the last page
  field   str
  value   str

O(count). TTL: untouched. Clock: none. Replay: harmless.
]]
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1] }
for i = 1, #page[2] do reply[i + 1] = page[2][i] end
return reply
