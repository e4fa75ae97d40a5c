--[[
hash-page: read a page of a hash: of grants, of transfers between buckets, or of void grants.

KEYS[1]  hash    hash          <prefix>:red-packet:{<partition>}:grants:<activity>, :moves or :voids
ARGV[1]  cursor  str           '0' for the first page, then the cursor that the previous page returned
ARGV[2]  count   int 1..1,000  about how many fields; a small hash is returned as one page

Returns {cursor, field, value, ...}
  cursor  str   '0' if this is the last page
  field   str   of the grants: id of the user, or '' for the sum of cents; of the others: as send-packets, receive-packets and
                void-grant write it
  value   str   of the grants: '<packetId>:<cents>:<ms>', with ':l' at its end if void-grant copied it from the ledger; of the
                others: as those scripts write it

O(count). TTL: untouched. Clock: none. Replay: reads again.
]]
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1] }
for i = 1, #page[2] do reply[i + 1] = page[2][i] end
return reply
