--[[
bury-payout: move an open payout that could not be paid to the dead letters of its bucket (shard of an activity).

KEYS[1]  outbox       stream  <prefix>:red-packet:{<partition>}:outbox
KEYS[2]  meta         hash    <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[3]  dead         stream  <prefix>:red-packet:{<partition>}:dead:<activity>
ARGV[1]  rowId        str     id of the stream entry
ARGV[2]  owner        str     field `activity` of the row; if that of KEYS[2] differs, Redis has forgotten the activity of the row
ARGV[3]  problem      str     why the payout is given up; not empty
ARGV[4]  attempts     int     attempts that counted
ARGV[5]  firstSeenMs  int     when a process first took the row, ms since the epoch

Returns buried
  buried  1 | 0 | -1   0: the outbox has no such row, because it was settled or dead-lettered before; -1: nothing was changed, because
          Redis has forgotten the activity

O(1). TTL: that of the bucket's other keys, if they have one. Clock: Redis, for the id of the entry. Replay: returns 0 and changes nothing.
]]
-- @include row-fields
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
if redis.call('HGET', KEYS[2], 'activity') ~= ARGV[2] then return -1 end
local row = read_fields(entry[2])
-- Only XADD can still fail, so it comes first: Redis does not roll back.
redis.call('XADD', KEYS[3], '*', 'error', ARGV[3], 'attempts', ARGV[4], 'first-seen-ms', ARGV[5], 'activity', ARGV[2],
  'user', row['user'], 'grant', row['grant'])
local forget = redis.call('HGET', KEYS[2], 'forgetAtMs')
if forget then redis.call('PEXPIREAT', KEYS[3], forget) end
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
