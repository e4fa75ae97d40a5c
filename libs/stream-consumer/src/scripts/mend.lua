--[[
mend: find entries that nobody would ever take: of consumers without a session, or waiting for what was lost.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  due       zset    ...:due:<group>
KEYS[4]  heads     hash    ...:heads:<group>
KEYS[5]  parked    zset    ...:parked:<group>
ARGV[1]  group     str
ARGV[2]  after     str     where to go on, as the last call said; '-' to begin
ARGV[3]  count     int 1..500  most entries to look at

Returns {mended, after}
  mended  int  entries that may be taken now, and consumers that will be swept
  after   str  '-' at the end

O(count * log parked). TTL: the stream's. Clock: Redis. Replay: finds them mended.
]]
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if failed(consumers) then return is_gone(consumers) and { 0, '-' } or consumers end
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('ZCARD', KEYS[5])
local mended = 0
for _, row in ipairs(consumers) do
  local name, pending = row[2], row[4]
  if name ~= WAITING and not redis.call('ZSCORE', KEYS[2], name) then
    if pending == 0 then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
    else
      mended = mended + redis.call('ZADD', KEYS[2], 0, name)
    end
  end
end
-- Whether an entry waits behind one of its key that is still there.
local function is_parked(key, id)
  if key == '' or not redis.call('ZSCORE', KEYS[5], place_of(key, id)) then return false end
  local head = redis.call('HGET', KEYS[4], key)
  return head and #redis.call('XPENDING', KEYS[1], ARGV[1], head, head, 1) > 0
end
local rows = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], '+', ARGV[3], WAITING)
for _, row in ipairs(rows) do
  if not redis.call('ZSCORE', KEYS[3], row[1]) then
    local entry = redis.call('XRANGE', KEYS[1], row[1], row[1])[1]
    if not entry then
      redis.call('XACK', KEYS[1], ARGV[1], row[1])
    else
      local key = key_of(entry[2])
      if not is_parked(key, row[1]) then mended = mended + redis.call('ZADD', KEYS[3], now, row[1]) end
    end
  end
end
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
end
return { mended, #rows == tonumber(ARGV[3]) and '(' .. rows[#rows][1] or '-' }
