--[[
outbox-page: read the payout rows of one bucket (shard of an activity) from a page of its outbox, the stream of open payouts.

KEYS[1]  outbox  stream        <prefix>:red-packet:{<partition>}:outbox
ARGV[1]  owner   str           field `activity` of the rows
ARGV[2]  after   str           id of the last entry of the previous page; '0-0' for the first page
ARGV[3]  count   int 1..1,000  most entries to look at

Returns {last, userId, grant, ...}
  last    str   id of the last entry that was looked at; '' after the last page
  userId  str   '' if the row has no field `user`
  grant   str   '<packetId>:<cents>:<ms>'; '' if the row has no field `grant`

O(count). TTL: untouched. Clock: none. Replay: reads again.
]]
-- @include row-fields
local page = redis.call('XRANGE', KEYS[1], '(' .. ARGV[2], '+', 'COUNT', ARGV[3])
local rows = { #page == tonumber(ARGV[3]) and page[#page][1] or '' }
for _, entry in ipairs(page) do
  local fields = read_fields(entry[2])
  if fields['activity'] == ARGV[1] then
    rows[#rows + 1] = fields['user']
    rows[#rows + 1] = fields['grant']
  end
end
return rows
