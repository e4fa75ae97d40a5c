--[[
leave: end the lease of a process, so that other consumers can take over its entries at once. Wakes these consumers if there are entries to
take, now or later.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
KEYS[4]  due       zset    ...:due:<group>
KEYS[5]  woken     string  ...:woken; readers listen to a channel of the same name
ARGV[1]  group     str
ARGV[2]  session   str

Returns {left}
  left  int  1: the process had no entries | 0: its entries will be taken over

O(1). TTL: none, the group owns its keys. Clock: not read. Replay: harmless, because the lease has ended already.
]]
-- @include errors
redis.call('HLEN', KEYS[3])
local waiting = redis.call('ZCARD', KEYS[4])
if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then return { 1 } end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
local held = failed(pending) and 0 or #pending
if held > 0 then
  redis.call('ZADD', KEYS[2], 0, ARGV[2])
else
  redis.call('ZREM', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[2])
  redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
-- The woken consumers take the entries over, and get the time of the next retry.
if held + waiting > 0 and redis.call('EXISTS', KEYS[5]) == 0 then
  redis.call('SET', KEYS[5], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[5], 'left')
end
return { held > 0 and 0 or 1 }
