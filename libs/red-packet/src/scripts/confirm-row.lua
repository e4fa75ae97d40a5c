--[[
confirm-row: check that the outbox of this master still has a payout row, and write something, so that a WAIT on the same connection
shows when replicas have the row.

KEYS[1]  outbox   stream       <prefix>:red-packet:{<partition>}:outbox
KEYS[2]  waited   string(str)  <prefix>:red-packet:{<partition>}:waited
ARGV[1]  rowId    str          id of the stream entry
ARGV[2]  owner    str          field `activity` of the row
ARGV[3]  user     str          field `user` of the row
ARGV[4]  grant    str          field `grant` of the row, '<packet>:<cents>:<ms>'

Returns found
  found  1 | 0   0: the outbox has no such row: it was settled, dead-lettered or dropped, or a failover has lost it. After a failover
                 another row may have its id

O(1). TTL: KEYS[2] has one of a minute. Clock: none. Replay: checks and writes again.
]]
-- @include row-fields
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local row = read_fields(entry[2])
if row['activity'] ~= ARGV[2] or row['user'] ~= ARGV[3] or row['grant'] ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', 60000)
return 1
