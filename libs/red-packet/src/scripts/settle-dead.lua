--[[
settle-dead: delete the dead letter of a payout that was paid after all, and count the payout as paid. A process that is late may
dead-letter a payout while another one pays it.

KEYS[1]  dead   stream        <prefix>:red-packet:{<partition>}:dead:<activity>
KEYS[2]  meta   hash          <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  owner  str           field `activity` of the row
ARGV[2]  user   str           field `user` of the row
ARGV[3]  grant  str           field `grant` of the row, '<packet>:<cents>:<ms>'
ARGV[4]  after  str           id of the last entry of the previous page; '0-0' for the first page
ARGV[5]  count  int 1..1,000  most entries to look at

Returns last
  last  str   id of the last entry that was looked at; '' after the last page

O(count). TTL: untouched. Clock: none. Replay: deletes nothing more.
]]
-- @include row-fields
local activity = redis.call('HGET', KEYS[2], 'activity')
local page, deleted = redis.call('XRANGE', KEYS[1], '(' .. ARGV[4], '+', 'COUNT', ARGV[5]), 0
for _, entry in ipairs(page) do
  local row = read_fields(entry[2])
  if row['activity'] == ARGV[1] and row['user'] == ARGV[2] and row['grant'] == ARGV[3] then
    deleted = deleted + redis.call('XDEL', KEYS[1], entry[1])
  end
end
if deleted > 0 and activity == ARGV[1] then
  redis.call('HINCRBY', KEYS[2], 'settledRows', deleted)
end
return #page == tonumber(ARGV[5]) and page[#page][1] or ''
