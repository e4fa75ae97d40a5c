--[[
take-ordered: take entries as take does, one entry of a key at a time. The entries behind it are parked until it is settled:
pending under a consumer of the key.

KEYS[1]  stream     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions   zset    ...:sessions:<group>
KEYS[3]  takes      hash    ...:takes:<group>
KEYS[4]  due        zset    ...:due:<group>
KEYS[5]  tries      hash    ...:tries:<group>
KEYS[6]  waiters    string  ...:waiters
KEYS[7]  heads      hash    ...:heads:<group>; for each key, the entry whose turn it is
ARGV[1]  group      str
ARGV[2]  session    str     name without spaces; a session that was lost is not used again
ARGV[3]  token      str     token of this take, unique in the session; without spaces
ARGV[4]  count      int 1..128
ARGV[5]  leaseMs    int >= 1
ARGV[6]  begins     int     1 if the session is new | 0
ARGV[7]  waitMs     int     time in which a publish wakes the session, if there are no more entries; 0: no wake-up
ARGV[8]  maxKeys    int     number of keys in `heads` at which nothing new is read

Returns {state, more, dueIn, endIn, now, again, entries}
  state    1 taken | 0 the session was lost | 2 there is no such group
  more     1 if more entries may be there | 0
  dueIn    int  ms until the next retry is due; -1 if none waits
  endIn    int  ms until the next lease ends; 0 or less: a session must be taken over
  now      int  ms since the epoch
  again    int  entries that were delivered before; they come first
  entries  str  as in take

O(count * log pending). TTL: the stream's. Clock: Redis. Replay: gives the entries of the first call.
]]
-- @include taking
-- @include consumers
-- @include groups
-- @include own-fields or foreign-fields
-- Returns true if an entry is the head of its key, or becomes it. Without a head, older parked entries go first: repair makes one of
-- them the head.
local function may_run(key, id)
  local head = redis.call('HGET', KEYS[7], key)
  if head == id or head and #redis.call('XPENDING', KEYS[1], ARGV[1], head, head, 1) > 0 then return head == id end
  local first = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, parking_name(key))[1]
  if first and comes_after(id, first[1]) then return false end
  redis.call('HSET', KEYS[7], key, id)
  return true
end

local function give(entry, tried)
  local payload, key, operation, group = read_fields(entry[2])
  local is_ours = group == '' or group == ARGV[1]
  if key ~= '' and is_ours and not may_run(key, entry[1]) then
    return redis.call('XCLAIM', KEYS[1], ARGV[1], parking_name(key), 0, entry[1], 'JUSTID')
  end
  add_entry(entry[1], tried, is_ours, payload, key, operation)
end

if is_session_lost() then return reply_without_entries(0) end
redis.call('HLEN', KEYS[5])
local more, busy = true, redis.call('HLEN', KEYS[7])
if not repeat_last_take(give) then
  local due, problem = give_due(give)
  -- Entries that are parked leave room in the reply, so new entries are read up to four times.
  local rounds = due and due < tonumber(ARGV[4]) and 4 or 0
  while rounds > 0 and more and #ids < tonumber(ARGV[4]) and busy < tonumber(ARGV[8]) do
    more, problem = give_new(ARGV[4] - #ids, give)
    rounds, busy = rounds - 1, redis.call('HLEN', KEYS[7])
  end
  if problem then return is_gone(problem) and reply_without_entries(2) or problem end
  if busy >= tonumber(ARGV[8]) and #ids == 0 then more = false end
  note_take()
end
redis.call('ZADD', KEYS[2], now_ms + ARGV[5], ARGV[2])
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[4], ends)
  redis.call('PEXPIREAT', KEYS[7], ends)
end
return build_reply(more)
