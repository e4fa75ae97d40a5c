--[[
take-ordered: as take, one entry of a key at a time. Those behind it are parked until it is settled: pending under a consumer of
the key.

KEYS[1]  stream     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions   zset    ...:sessions:<group>
KEYS[3]  takes      hash    ...:takes:<group>
KEYS[4]  due        zset    ...:due:<group>
KEYS[5]  tries      hash    ...:tries:<group>
KEYS[6]  waiters    string  ...:waiters
KEYS[7]  heads      hash    ...:heads:<group>; the entry of a key that is in work, or waits to be
ARGV[1]  group      str
ARGV[2]  session    str     without spaces, never used again once it was lost
ARGV[3]  token      str     of this take, no two of a session alike; without spaces
ARGV[4]  count      int 1..128
ARGV[5]  leaseMs    int >= 1
ARGV[6]  begins     int     1 where the session is new | 0
ARGV[7]  waitMs     int     asks publishers to wake for so long, if there is no more; 0 for never
ARGV[8]  maxKeys    int     keys with an entry in work or waiting, from which on nothing new is read

Returns {state, more, dueIn, endIn, now, again, entries}
  state    1 taken | 0 the session was lost | 2 there is no such group
  more     1 when there may be more at once | 0
  dueIn    int  ms until a retry is due; -1 for none
  endIn    int  ms until the lease of some session ends, 0 or less: it is to be taken over
  now      int  ms since the epoch
  again    int  entries that were delivered before; they come first
  entries  str  as of take

O(count * log pending). TTL: the stream's. Clock: Redis. Replay: gives the entries of the first call.
]]
local till = redis.call('ZSCORE', KEYS[2], ARGV[2])
if till == '0' or (not till and ARGV[6] == '0') then return { 0, 0, -1, -1, now, 0 } end
local _, busy, last = redis.call('HLEN', KEYS[5]), redis.call('HLEN', KEYS[7]), redis.call('HGET', KEYS[3], ARGV[2]) or ''
local token, again, fresh, ids, more, got = string.match(last, '^%S*'), {}, {}, {}, 1, 0
-- True if an entry is the head of its key, or becomes it. Without a head, what is parked goes first: mend sees to that.
local function may_run(key, id)
  local head = redis.call('HGET', KEYS[7], key)
  if head == id or head and #redis.call('XPENDING', KEYS[1], ARGV[1], head, head, 1) > 0 then return head == id end
  local first = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, parking_of(key))[1]
  if first and comes_after(id, first[1]) then return false end
  redis.call('HSET', KEYS[7], key, id)
  return true
end
local function give(entry, noted)
  local payload, key, operation, group = fields_of(entry[2])
  local ours = group == '' or group == ARGV[1]
  if key ~= '' and ours and not may_run(key, entry[1]) then
    return redis.call('XCLAIM', KEYS[1], ARGV[1], parking_of(key), 0, entry[1], 'JUSTID')
  end
  ids[#ids + 1], got = entry[1], got + 1
  if ours and not noted then return add_fresh(fresh, entry[1], payload, key, operation) end
  local attempts, first = tries_of(noted)
  add_again(again, entry[1], payload, key, operation, ours and attempts + 1 or 0, first or now)
end
if token == ARGV[3] then
  for id in string.gmatch(string.sub(last, #token + 1), '%S+') do
    for _, entry in ipairs(redis.call('XRANGE', KEYS[1], id, id)) do give(entry, redis.call('HGET', KEYS[5], id)) end
  end
else
  local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, ARGV[4])
  if #due > 0 then
    local claimed = redis.pcall('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, unpack(due))
    if failed(claimed) then return is_gone(claimed) and { 2, 0, -1, -1, now, 0 } or claimed end
    redis.call('ZREM', KEYS[4], unpack(due))
    for _, entry in ipairs(claimed) do give(entry, redis.call('HGET', KEYS[5], entry[1]) or '') end
    if #claimed < #due then redis.call('HDEL', KEYS[5], unpack(missing_in(claimed, due))) end
  end
  local rounds = #due < tonumber(ARGV[4]) and 4 or 0
  while rounds > 0 and more == 1 and got < tonumber(ARGV[4]) and busy < tonumber(ARGV[8]) do
    local left = ARGV[4] - got
    local read = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', left, 'STREAMS', KEYS[1], '>')
    if failed(read) then return is_gone(read) and { 2, 0, -1, -1, now, 0 } or read end
    for _, entry in ipairs(read and read[1][2] or {}) do give(entry) end
    rounds, more, busy = rounds - 1, read and #read[1][2] == left and 1 or 0, redis.call('HLEN', KEYS[7])
  end
  if busy >= tonumber(ARGV[8]) and got == 0 then more = 0 end
  if ids[1] then redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. table.concat(ids, ' ')) end
end
redis.call('ZADD', KEYS[2], now + ARGV[5], ARGV[2])
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then redis.call('PEXPIREAT', KEYS[2], ends); redis.call('PEXPIREAT', KEYS[3], ends) end
if ends > 0 then redis.call('PEXPIREAT', KEYS[4], ends); redis.call('PEXPIREAT', KEYS[7], ends) end
if more == 0 and ARGV[7] ~= '0' then redis.call('SET', KEYS[6], '1', 'PX', ARGV[7]) end
local next_due, next_end = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES'), redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
return rows_after({ 1, more, ms_until(next_due[2]), next_end[2] - now, now, #again / 6 }, again, fresh)
