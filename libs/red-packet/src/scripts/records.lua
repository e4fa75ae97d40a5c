--[[
records: read a page of an activity's grants.

KEYS[1]  grants  hash          <prefix>:red-packet:{<activity>}:grants
ARGV[1]  cursor  str           '0' for the first page, then what the last page returned
ARGV[2]  count   int 1..1,000  about how many grants

Returns {cursor, user, grant, ...}
  cursor  str   '0' after the last page
  user    str   '' for the field with the sum of cents
  grant   str   '<packetId>:<cents>:<ms>'

O(count). TTL: untouched. Clock: none. Replay: harmless.
]]
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1] }
for i = 1, #page[2] do reply[i + 1] = page[2][i] end
return reply
