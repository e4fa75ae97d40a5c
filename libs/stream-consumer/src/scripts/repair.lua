--[[
repair: restore what is lost in `due` and `heads`, and take pending entries from consumers without a lease and from a session that
does not hold them, so that each entry can be taken again. The group's own list of pending entries decides.

KEYS[1]  stream     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions   zset    ...:sessions:<group>
KEYS[3]  due        zset    ...:due:<group>
KEYS[4]  heads      hash    ...:heads:<group>
KEYS[5]  takes      hash    ...:takes:<group>
ARGV[1]  group      str
ARGV[2]  leaseMs    int  a consumer without a lease keeps its entries until it has sent no command for this time
ARGV[3]  count      int 1..500  most entries and keys of each kind to look at
ARGV[4]  pending    str  where to continue in the group's list of pending entries, as the last call returned; '0-0' to begin
ARGV[5]  waiting    str  where to continue in the entries that wait for an attempt; '-' to begin
ARGV[6]  parked     str  where to continue in the consumers of parked entries; '' to begin
ARGV[7]  session    str  session of the caller; '' to leave it alone
ARGV[8]  taken      int  tokens of the session that the caller has used; it does not know a take with a later token
ARGV[9..] held      list(str)  ids of the entries that the caller handles or settles

Returns {repaired, pending, waiting, parked}
  repaired  int  entries that can be taken now, entries of the session that were put back, deleted entries that were dropped from
                 the list, and consumers whose entries will be taken over
  pending   str  `pending`, `waiting` and `parked` are arguments of the next call; each is the value to begin with when its list has ended
  waiting   str
  parked    str

O(count * log pending + consumers + held). TTL: the stream's. Clock: Redis. Replay: harmless, looks at the same
entries again.
]]
-- @include clock
-- @include errors
-- @include consumers
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if failed(consumers) then return is_gone(consumers) and { 0, '0-0', '-', '' } or consumers end
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
local function is_pending(id)
  return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1) > 0
end

-- No entry is idle for that long, so XAUTOCLAIM claims no entry. It still drops entries from the list that the stream no longer
-- has.
local NEVER = '9007199254740991'
local dropped = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], WAITING, NEVER, ARGV[4], 'COUNT', ARGV[3], 'JUSTID')
local repaired = #dropped[3]

-- Makes the first parked entry of a key the head of the key, if there is no head. An entry that the stream no longer has is
-- dropped from the list instead.
local function repair_key(key, pending)
  local consumer, head = parking_name(key), redis.call('HGET', KEYS[4], key)
  if pending == 0 then return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer) end
  local first = not (head and is_pending(head)) and redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, consumer)[1]
  if not first then return end
  repaired = repaired + 1
  if redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, first[1], 'JUSTID')[1] then
    redis.call('HSET', KEYS[4], key, first[1])
    redis.call('ZADD', KEYS[3], now_ms, first[1])
  end
end
local function repair_consumer(name, pending, idle)
  if name == WAITING or idle < tonumber(ARGV[2]) or redis.call('ZSCORE', KEYS[2], name) then return end
  if pending == 0 then return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name) end
  repaired = repaired + redis.call('ZADD', KEYS[2], 0, name)
end

-- Puts back the entries that are pending in the session and that it does not hold. They were settled, and a failover lost that.
local function repair_session()
  local till = redis.call('ZSCORE', KEYS[2], ARGV[7])
  local last = redis.call('HGET', KEYS[5], ARGV[7]) or ''
  -- The caller does not know the entries of a later take.
  local has_taken = (tonumber(string.match(last, '^%S*'), 36) or -1) >= tonumber(ARGV[8])
  if not till or till == '0' or has_taken then return end
  local held = {}
  for i = 9, #ARGV do held[ARGV[i]] = true end
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', #ARGV + ARGV[3], ARGV[7])
  for _, row in ipairs(pending) do
    if not held[row[1]] then
      repaired = repaired + 1
      local exists = redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, row[1], 'JUSTID')[1]
      if exists then redis.call('ZADD', KEYS[3], now_ms, row[1]) end
    end
  end
end
if ARGV[7] ~= '' then repair_session() end

local reached, looked, parked = ARGV[6] == '', 0, ''
for _, row in ipairs(consumers) do
  local key = parked_key(row[2])
  if not key then
    repair_consumer(row[2], row[4], row[6])
  elseif reached and looked < tonumber(ARGV[3]) then
    repair_key(key, row[4])
    looked, parked = looked + 1, row[2]
  end
  reached = reached or row[2] == ARGV[6]
end
if looked < tonumber(ARGV[3]) then parked = '' end

local rows = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[5], '+', ARGV[3], WAITING)
for _, row in ipairs(rows) do
  if not redis.call('ZSCORE', KEYS[3], row[1]) then repaired = repaired + redis.call('ZADD', KEYS[3], now_ms, row[1]) end
end

local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[4], ends)
end
return { repaired, dropped[1], #rows == tonumber(ARGV[3]) and '(' .. rows[#rows][1] or '-', parked }
