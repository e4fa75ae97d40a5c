--[[
replay-payouts: move dead-lettered payouts of a bucket (shard of an activity) back to the outbox, as new rows.

KEYS[1]    dead    stream     <prefix>:red-packet:{<partition>}:dead:<activity>
KEYS[2]    outbox  stream     <prefix>:red-packet:{<partition>}:outbox
ARGV[1..]  ids     list(str)  1 to 100 ids of dead letters

Returns replayed
  replayed  int   ids that existed

O(ids). TTL: untouched. Clock: Redis, for the ids of the rows. Replay: moves nothing more, and does not count the ids again.
]]
-- @include row-fields
local replayed = 0
for _, id in ipairs(ARGV) do
  local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
  if entry then
    local row = read_fields(entry[2])
    if not redis.call('XADD', KEYS[2], 'NOMKSTREAM', '*', 'activity', row['activity'], 'user', row['user'], 'grant', row['grant']) then
      return redis.error_reply('LOSTOUTBOX Redis has lost the payouts of this activity, perhaps by eviction; nothing was changed')
    end
    replayed = replayed + redis.call('XDEL', KEYS[1], id)
  end
end
return replayed
