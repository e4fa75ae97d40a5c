--[[
sweep: make the entries of a process whose lease has ended available to others.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  takes     hash    ...:takes:<group>
KEYS[4]  due       zset    ...:due:<group>
KEYS[5]  tries     hash    ...:tries:<group>
KEYS[6]  unsettled set     ...:unsettled:<group>
ARGV[1]  group     str
ARGV[2]  count     int 1..100  maximum number of entries to take over
ARGV[3]  problem   str     error text of these attempts; an error of an earlier attempt stays

Returns {taken, more, session}
  taken    int    number of entries that were taken over
  more     1 | 0  1 if that process may have more entries
  session  str    name under which that process held them; '' if no lease has ended

O(count). TTL: the stream's. Clock: Redis. Replay: continues with the next entries.
]]
-- @include clock
-- @include errors
-- @include tries
-- @include consumers
local name = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now_ms, 'LIMIT', 0, 1)[1]
if not name then return { 0, 0, '' } end
redis.call('HLEN', KEYS[3])
redis.call('ZCARD', KEYS[4])
redis.call('HLEN', KEYS[5])
redis.call('SCARD', KEYS[6])
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', ARGV[2], name)
if failed(held) then
  if not is_gone(held) then return held end
  held = {}
end
redis.call('ZADD', KEYS[2], 0, name)
for _, row in ipairs(held) do
  local attempts, first, problem, returned = parse_tries(redis.call('HGET', KEYS[5], row[1]))
  if problem == '' then problem = ARGV[3] end
  redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, row[1], 'JUSTID')
  redis.call('HSET', KEYS[5], row[1], format_tries(attempts + 1, returned, first or now_ms - row[3], problem))
  redis.call('ZADD', KEYS[4], now_ms, row[1])
  -- A consumer of another program does not add its entries to the set of unfinished entries, so this script adds them.
  redis.call('SADD', KEYS[6], row[1])
end
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[4], ends)
  redis.call('PEXPIREAT', KEYS[5], ends)
  redis.call('PEXPIREAT', KEYS[6], ends)
end
if #held == tonumber(ARGV[2]) then return { #held, 1, name } end
redis.call('ZREM', KEYS[2], name)
redis.call('HDEL', KEYS[3], name)
redis.pcall('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
return { #held, 0, name }
