--[[
list-dead: read a page of the dead-lettered payouts of a bucket (shard of an activity), the oldest first.

KEYS[1]  dead   stream        <prefix>:red-packet:{<partition>}:dead:<activity>
ARGV[1]  after  str           the page begins after this id; '0-0' for the first page
ARGV[2]  count  int 1..500    most dead letters of the page

Returns {newest, id, error, attempts, firstSeenMs, userId, grant, ...}
  newest       str   id of the newest dead letter; '0-0' without any
  id           str   id of the stream entry; the part before '-' is when it was dead-lettered, ms since the epoch
  error        str   why the payout was given up
  attempts     str   digits; attempts that counted
  firstSeenMs  str   digits; when a process first took the payout, ms since the epoch
  userId       str   '' if the entry has no field `user`
  grant        str   '<packetId>:<cents>:<ms>'; '' if the entry has no field `grant`

O(count). TTL: untouched. Clock: none. Replay: reads again.
]]
-- @include row-fields
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local rows = { newest and newest[1] or '0-0' }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  local fields = read_fields(entry[2])
  rows[#rows + 1] = entry[1]
  for _, name in ipairs({ 'error', 'attempts', 'first-seen-ms', 'user', 'grant' }) do
    rows[#rows + 1] = fields[name] or ''
  end
end
return rows
