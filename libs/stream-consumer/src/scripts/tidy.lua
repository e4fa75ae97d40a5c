--[[
tidy: delete the data in `tries` and `heads` of entries that are finished or deleted.

KEYS[1]  stream  stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  tries   hash    ...:tries:<group>
KEYS[3]  heads   hash    ...:heads:<group>
KEYS[4]  unsettled  set  ...:unsettled:<group>
ARGV[1]  group   str
ARGV[2]  count   int 1..500  number of fields of each hash to check, approximately
ARGV[3]  triesAfter  str  where to continue in `tries`, as the last call returned; '0' for the first call
ARGV[4]  headsAfter  str  where to continue in `heads`, as the last call returned; '0' for the first call

Returns {triesAfter, headsAfter}
  triesAfter  str  argument of the next call; '0' at the end
  headsAfter  str  argument of the next call; '0' at the end

O(count * log pending). TTL: untouched. Clock: not read. Replay: checks the same fields again.
]]
-- @include errors
-- @include consumers
local function is_pending(id)
  return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1) > 0 or redis.call('SISMEMBER', KEYS[4], id) == 1
end
-- Without the group, nothing is deleted here. The script open deletes the data when it creates the group again.
local group = redis.pcall('XPENDING', KEYS[1], ARGV[1])
if failed(group) then return is_gone(group) and { '0', '0' } or group end
redis.call('SCARD', KEYS[4])
local tries, heads = redis.call('HSCAN', KEYS[2], ARGV[3], 'COUNT', ARGV[2]), redis.call('HSCAN', KEYS[3], ARGV[4], 'COUNT', ARGV[2])
for i = 1, #tries[2], 2 do
  if not is_pending(tries[2][i]) then redis.call('HDEL', KEYS[2], tries[2][i]) end
end
for i = 1, #heads[2], 2 do
  local parked = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, parking_name(heads[2][i]))
  -- While entries wait for this key, the field stays, and the script repair makes the oldest one the head.
  if not parked[1] and not is_pending(heads[2][i + 1]) then redis.call('HDEL', KEYS[3], heads[2][i]) end
end
return { tries[1], heads[1] }
