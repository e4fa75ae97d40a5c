--[[
drop-rows: delete the payout rows of one bucket from a page of its outbox (stream of open payouts), because these payouts are given up.

KEYS[1]  outbox    stream        <prefix>:red-packet:{<partition>}:outbox
KEYS[2]  meta      hash          <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  owner     str           field `activity` of the rows
ARGV[2]  after     str           id of the last entry of the previous page; '0-0' for the first page
ARGV[3]  count     int 1..1,000  most entries to look at

Returns last
  last  str   id of the last entry that was looked at; '' after the last page

O(count). TTL: untouched. Clock: none. Replay: deletes nothing more.
]]
-- @include row-fields
redis.call('HLEN', KEYS[2])
local page, dropped = redis.call('XRANGE', KEYS[1], '(' .. ARGV[2], '+', 'COUNT', ARGV[3]), 0
for _, entry in ipairs(page) do
  if read_fields(entry[2])['activity'] == ARGV[1] then dropped = dropped + redis.call('XDEL', KEYS[1], entry[1]) end
end
if dropped > 0 and redis.call('HGET', KEYS[2], 'activity') == ARGV[1] then
  redis.call('HINCRBY', KEYS[2], 'settledRows', dropped)
end
return #page == tonumber(ARGV[3]) and page[#page][1] or ''
