--[[
drop-payouts: delete dead-lettered payouts of a bucket (shard of an activity), so that they count as paid.

KEYS[1]    dead  stream     <prefix>:red-packet:{<partition>}:dead:<activity>
KEYS[2]    meta  hash       <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1..]  ids   list(str)  1 to 100 ids of dead letters

Returns dropped
  dropped  int   ids that existed

O(ids). TTL: untouched. Clock: none. Replay: drops nothing more, and does not count the ids again.
]]
redis.call('HLEN', KEYS[2])
local dropped = 0
for _, id in ipairs(ARGV) do dropped = dropped + redis.call('XDEL', KEYS[1], id) end
if dropped > 0 and redis.call('HEXISTS', KEYS[2], 'activity') == 1 then
  redis.call('HINCRBY', KEYS[2], 'settledRows', dropped)
end
return dropped
