--[[
settle-payout: remove a paid payout from the outbox (stream of open payouts), and count it in its bucket (shard of an activity).

KEYS[1]  outbox    stream  <prefix>:red-packet:{<partition>}:outbox
KEYS[2]  meta      hash    <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  rowId     str     id of the stream entry
ARGV[2]  owner     str     field `activity` of the row; if that of KEYS[2] differs, Redis has forgotten the activity, and nothing is counted
ARGV[3]  user      str     field `user` of the row
ARGV[4]  grant     str     field `grant` of the row, '<packet>:<cents>:<ms>'

Returns settled
  settled  1 | 0   0: the outbox has no such row, because it was settled or dead-lettered before, or a failover has lost it. After a
           failover another row may have its id, which stays

O(1). TTL: untouched. Clock: none. Replay: returns 0 and changes nothing.
]]
-- @include row-fields
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local row = read_fields(entry[2])
if row['activity'] ~= ARGV[2] or row['user'] ~= ARGV[3] or row['grant'] ~= ARGV[4] then return 0 end
local meta = redis.call('HMGET', KEYS[2], 'activity', 'settledRows')
local counts = meta[1] == ARGV[2]
if counts and not tonumber(meta[2] or '0') then
  return redis.error_reply('BADMETA the meta hash is damaged: settledRows is not a number; nothing was changed')
end
-- Deleting comes first, because only a deleted row may be counted as paid.
local deleted = redis.call('XDEL', KEYS[1], ARGV[1])
if counts and deleted == 1 then redis.call('HINCRBY', KEYS[2], 'settledRows', 1) end
return deleted
