--[[
note-report: note that the refund of a bucket (shard of an activity) was reported to onClosed, so that its keys may expire.

KEYS[1]  meta         hash  <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  packets      int   refunded packets of this bucket that the report counted
ARGV[2]  expiresAtMs  int   expiresAtMs of the activity that was reported; a later activity with the same id has another value

Returns noted
  noted  1 | 0   0: this bucket needs no report, or a report with at least as many packets was noted before, or the bucket belongs to
                 a later activity

O(1). TTL: untouched. Clock: none. Replay: returns 0 and changes nothing.
]]
local meta = redis.call('HMGET', KEYS[1], 'reportedPackets', 'expiresAtMs')
if not meta[1] or (meta[2] or '0') ~= ARGV[2] or tonumber(meta[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'reportedPackets', ARGV[1])
return 1
