--[[
take: give a session entries to work on: those whose retry is due, then new ones.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>; ends of leases, 0 once one was taken over
KEYS[3]  takes     hash    ...:takes:<group>; the last take of each session
KEYS[4]  due       zset    ...:due:<group>; when an entry may be tried again
KEYS[5]  tries     hash    ...:tries:<group>; what became of attempts
KEYS[6]  waiters   string  ...:waiters
ARGV[1]  group     str
ARGV[2]  session   str     without spaces, never used again once it was lost
ARGV[3]  token     str     of this take, no two of a session alike; without spaces
ARGV[4]  count     int 1..128
ARGV[5]  leaseMs   int >= 1
ARGV[6]  begins    int     1 where the session is new | 0
ARGV[7]  waitMs    int     asks publishers to wake for so long, if there is no more; 0 for never

Returns {state, more, dueIn, endIn, now, again, entries}
  state    1 taken | 0 the session was lost | 2 there is no such group
  more     1 when there may be more at once | 0
  dueIn    int  ms until a retry is due; -1 for none
  endIn    int  ms until the lease of some session ends, 0 or less: it is to be taken over
  now      int  ms since the epoch
  again    int  entries that were delivered before; they come first
  entries  str  id, payload, key, operation, attempt, first delivery (ms); of new ones the first four. Attempt 0: for another group

O(count). TTL: the stream's. Clock: Redis. Replay: gives the entries of the first call.
]]
local till = redis.call('ZSCORE', KEYS[2], ARGV[2])
if till == '0' or (not till and ARGV[6] == '0') then return { 0, 0, -1, -1, now, 0 } end
redis.call('HLEN', KEYS[5])
local last = redis.call('HGET', KEYS[3], ARGV[2]) or ''
local token = string.match(last, '^%S*')
local again, fresh, ids, more = {}, {}, {}, 1
local function give(entry, noted)
  local payload, key, operation, group = fields_of(entry[2])
  ids[#ids + 1] = entry[1]
  if noted or (group ~= '' and group ~= ARGV[1]) then
    local attempts, first = tries_of(noted)
    if group ~= '' and group ~= ARGV[1] then attempts = -1 end
    add_again(again, entry[1], payload, key, operation, attempts + 1, first or now)
  else
    add_fresh(fresh, entry[1], payload, key, operation)
  end
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
  if #due < tonumber(ARGV[4]) then
    local left = ARGV[4] - #due
    local read = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', left, 'STREAMS', KEYS[1], '>')
    if failed(read) then return is_gone(read) and { 2, 0, -1, -1, now, 0 } or read end
    for _, entry in ipairs(read and read[1][2] or {}) do give(entry) end
    more = read and #read[1][2] == left and 1 or 0
  end
  if #ids > 0 then redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. table.concat(ids, ' ')) end
end
redis.call('ZADD', KEYS[2], now + ARGV[5], ARGV[2])
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
end
if more == 0 and ARGV[7] ~= '0' then redis.call('SET', KEYS[6], '1', 'PX', ARGV[7]) end
local next_due, next_end = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES'), redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
return rows_after({ 1, more, ms_until(next_due[2]), next_end[2] - now, now, #again / 6 }, again, fresh)
