--[[
note-report: note that the refund of a bucket was reported to onClosed, so that the bucket may be forgotten.

KEYS[1]  meta     hash  <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  packets  int   refunded packets of this bucket that the report counted

Returns noted
  noted  1 | 0   0: this bucket needs no report, or a report with at least as many packets was noted before

O(1). TTL: untouched. Clock: none. Replay: returns 0 and changes nothing.
]]
local before = redis.call('HGET', KEYS[1], 'reportedPackets')
if not before or tonumber(before) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'reportedPackets', ARGV[1])
return 1
