--[[
repair: find unfinished entries that no process would take any more, and make them available again. Either `due` or `heads` has lost the
entry, or its consumer has no lease, or a failover has lost its acknowledgement. Redis' list of pending entries decides which entries are
unfinished. An entry that another client has removed from that list, for example by XGROUP DELCONSUMER, is added again from `unsettled`.

KEYS[1]  stream     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions   zset    ...:sessions:<group>
KEYS[3]  due        zset    ...:due:<group>; entries that wait for an attempt -> time of the attempt, ms
KEYS[4]  heads      hash    ...:heads:<group>; key of messages -> its head: the entry of the key that may be handled now
KEYS[5]  takes      hash    ...:takes:<group>
KEYS[6]  unsettled  set     ...:unsettled:<group>
ARGV[1]  group      str
ARGV[2]  leaseMs    int  a consumer without a lease keeps its entries until it has been idle for this time, ms
ARGV[3]  count      int 1..500  maximum number of entries and keys of each kind to check
ARGV[4]  pending    str  where to continue in the group's list of pending entries, as the last call returned; '0-0' for the first call
ARGV[5]  waiting    str  where to continue in the entries that wait for an attempt; '-' for the first call
ARGV[6]  parked     str  where to continue in the entries that wait for an earlier one of their key; '' for the first call
ARGV[7]  session    str  name under which the caller holds entries; '' to leave those alone
ARGV[8]  taken      int  number of takes of the caller so far; entries of a later take are not in ARGV[10..]
ARGV[9]  unsettled  str  where to continue in `unsettled`; '0' for the first call
ARGV[10..] held     list(str)  ids of the entries that the caller holds

Returns {repaired, pending, waiting, parked, unsettled, restored, deleted}
  repaired  int  repairs: entries that can be taken again, deleted entries that were removed from the list, and consumers whose
                 entries will be taken over
  pending   str  `pending`, `waiting` and `parked` are arguments of the next call; at the end of its list, each is as for a first call
  waiting   str
  parked    str
  unsettled  str  '0' also if nothing is missing in the list of pending entries
  restored   int  number of entries that were added to the list of pending entries again
  deleted    int  number of unfinished entries that are missing in the stream

O(count * log pending + consumers + held). TTL: the stream's. Clock: Redis. Replay: harmless, checks the same
entries again.
]]
-- @include clock
-- @include errors
-- @include consumers
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if failed(consumers) then return is_gone(consumers) and { 0, '0-0', '-', '', '0', 0, 0 } or consumers end
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
-- Counts the unfinished entries that no consumer of this lib has in the list of pending entries.
local missing = redis.call('SCARD', KEYS[6])
local held = {}
for i = 10, #ARGV do held[ARGV[i]] = true end
local function is_pending(id)
  return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1) > 0
end

-- With this idle time, XAUTOCLAIM claims nothing. It is used because it also removes deleted entries from the list of pending entries.
local NEVER = '9007199254740991'
local dropped = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], WAITING, NEVER, ARGV[4], 'COUNT', ARGV[3], 'JUSTID')
local repaired = #dropped[3]
missing = missing + repaired

-- Makes the first waiting entry of a key available if no earlier entry of the key is unfinished. If the stream no longer has this entry,
-- removes it from the list of pending entries instead.
local function repair_key(key, pending)
  local consumer, head = parking_name(key), redis.call('HGET', KEYS[4], key)
  if pending == 0 then return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer) end
  -- If the head is unfinished but not pending, repair_unsettled() adds it to the list of pending entries again.
  local is_open = head and (is_pending(head)
    or redis.call('SISMEMBER', KEYS[6], head) == 1 and redis.call('XRANGE', KEYS[1], head, head)[1])
  local first = not is_open and redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, consumer)[1]
  if not first then return end
  repaired = repaired + 1
  if redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, first[1], 'JUSTID')[1] then
    redis.call('HSET', KEYS[4], key, first[1])
    redis.call('ZADD', KEYS[3], now_ms, first[1])
  end
end
local function repair_consumer(name, pending, idle)
  if name == WAITING or redis.call('ZSCORE', KEYS[2], name) then
    missing = missing - pending
    return
  end
  if idle < tonumber(ARGV[2]) then return end
  if pending == 0 then return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name) end
  repaired = repaired + redis.call('ZADD', KEYS[2], 0, name)
end

-- Gives back the entries that Redis lists for the caller, but that the caller does not hold: it had finished them before a failover.
local function repair_session()
  local till = redis.call('ZSCORE', KEYS[2], ARGV[7])
  local last = redis.call('HGET', KEYS[5], ARGV[7]) or ''
  -- After a later take, the caller holds entries that are not in ARGV.
  local has_taken = (tonumber(string.match(last, '^%S*'), 36) or -1) >= tonumber(ARGV[8])
  if not till or till == '0' or has_taken then return end
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', #ARGV + ARGV[3], ARGV[7])
  for _, row in ipairs(pending) do
    if not held[row[1]] then
      repaired = repaired + 1
      local exists = redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, row[1], 'JUSTID')[1]
      if exists then redis.call('ZADD', KEYS[3], now_ms, row[1]) end
    end
  end
end

-- Repairs the Redis consumers of the group. Returns where the next call continues in the entries that wait for an earlier one of their key.
local function repair_consumers()
  local reached, looked, parked = ARGV[6] == '', 0, ''
  for _, row in ipairs(consumers) do
    local key = parked_key(row[2])
    if not key then
      repair_consumer(row[2], row[4], row[6])
    else
      missing = missing - row[4]
      if reached and looked < tonumber(ARGV[3]) then
        repair_key(key, row[4])
        looked, parked = looked + 1, row[2]
      end
    end
    reached = reached or row[2] == ARGV[6]
  end
  return looked < tonumber(ARGV[3]) and '' or parked
end

-- Returns the entries that wait for an attempt, and makes those due that are missing in `due`.
local function repair_waiting()
  local rows = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[5], '+', ARGV[3], WAITING)
  for _, row in ipairs(rows) do
    if not redis.call('ZSCORE', KEYS[3], row[1]) then repaired = repaired + redis.call('ZADD', KEYS[3], now_ms, row[1]) end
  end
  return rows
end

-- Returns the name of the process that holds an entry under a lease; nil if the entry may be taken now.
local function find_holder(id)
  if redis.call('ZSCORE', KEYS[3], id) then return nil end
  local takes = redis.call('HGETALL', KEYS[5])
  for i = 1, #takes, 2 do
    local name = takes[i]
    local has = name == ARGV[7] and held[id] or string.find(takes[i + 1] .. ' ', ' ' .. id .. ' ', 1, true)
    if has and tonumber(redis.call('ZSCORE', KEYS[2], name) or '0') > now_ms then return name end
  end
end

-- Adds an unfinished entry to the list of pending entries again; forgets it if the stream no longer has it.
local restored, deleted = 0, 0
local function repair_unsettled(id)
  if is_pending(id) then return end
  local holder = find_holder(id)
  if not redis.call('XCLAIM', KEYS[1], ARGV[1], holder or WAITING, 0, id, 'FORCE', 'JUSTID')[1] then
    redis.call('ZREM', KEYS[3], id)
    deleted = deleted + redis.call('SREM', KEYS[6], id)
    return
  end
  restored = restored + 1
  -- The time in the id makes older entries due first.
  if not holder then redis.call('ZADD', KEYS[3], 'NX', math.min(now_ms, tonumber(string.match(id, '^%d+'))), id) end
end

if ARGV[7] ~= '' then repair_session() end
local parked, rows = repair_consumers(), repair_waiting()
local scan = { '0', {} }
if missing > 0 then scan = redis.call('SSCAN', KEYS[6], ARGV[9], 'COUNT', ARGV[3]) end
for _, id in ipairs(scan[2]) do repair_unsettled(id) end
repaired = repaired + restored + deleted

local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[4], ends)
  redis.call('PEXPIREAT', KEYS[6], ends)
end
local waiting = #rows == tonumber(ARGV[3]) and '(' .. rows[#rows][1] or '-'
return { repaired, dropped[1], waiting, parked, scan[1], restored, deleted }
