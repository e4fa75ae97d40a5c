--[[
scan-activities: read a page of the index of activities. An activity that is listed from the first page to the last is on at least
one page.

KEYS[1]  index   zset      <prefix>:red-packet:{activities}:index   activity id -> a time after the end of its retention, ms
ARGV[1]  cursor  str       cursor of the page before; '0' for the first page
ARGV[2]  count   int >= 1  about how many activities to read; a small index is returned as one page

Returns {cursor, activityId, ...}
  cursor      str   cursor of the next page; '0' after the last page
  activityId  str

O(count). TTL: untouched. Clock: none. Replay: reads again.
]]
local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local reply = { page[1] }
for i = 1, #page[2], 2 do reply[#reply + 1] = page[2][i] end
return reply
