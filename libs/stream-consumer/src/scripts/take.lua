--[[
take: give a process entries to handle: first entries whose retry is due, then new entries. The process holds them under a session: a
name with a lease, which it uses on this partition. A new session that gets no entries has no lease.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>; session -> when its lease ends, ms; 0 if its entries are being taken over
KEYS[3]  takes     hash    ...:takes:<group>; session -> its last call that returned entries
KEYS[4]  due       zset    ...:due:<group>; entry -> time of its next attempt, ms
KEYS[5]  tries     hash    ...:tries:<group>; entry -> number of attempts and last error
KEYS[6]  woken     string  ...:woken; exists if sleeping readers were woken, until one of them finds no more entries
KEYS[7]  unsettled set     ...:unsettled:<group>; entries that the group has read and not finished
ARGV[1]  group     str
ARGV[2]  session   str     name without spaces. After a loss, the process uses a new name
ARGV[3]  token     str     number of this call in base 36; each call of the session has a higher one
ARGV[4]  count     int 1..128
ARGV[5]  leaseMs   int >= 1
ARGV[6]  begins    int     1 if the session is new | 0

Returns {state, more, dueIn, endIn, now, again, entries}
  state    1: taken | 0: the session was lost | 2: there is no such group
  more     1: there may be more entries | 0: no more entries
  dueIn    int  ms until the next retry is due; -1 if no entry waits for a retry
  endIn    int  ms until the next lease ends; 0 if a lease has ended, -1 if there is none
  now      int  ms since 1970
  again    int  number of entries with six values, which come first
  entries  str  id, payload, key, operation, attempt, first delivery (ms); a new entry has only the first
                 four. Attempt 0: the entry is meant for another group

O(count). TTL: the stream's. Clock: Redis. Replay: returns those entries of the first call that still exist. If a
later call of the session has returned entries, a replay changes nothing and returns state 1 without entries.
]]
-- @include taking
-- @include own-fields or foreign-fields
local function give(entry, tried)
  local payload, key, operation, group = read_fields(entry[2])
  add_entry(entry[1], tried, group == '' or group == ARGV[1], payload, key, operation)
end

if is_session_lost() then return reply_without_entries(0) end
redis.call('HLEN', KEYS[5])
redis.call('SCARD', KEYS[7])
local last_token, last_ids = last_take()
if is_late(last_token) then return reply_without_entries(1) end
local more = true
if last_token == ARGV[3] then
  repeat_take(last_ids, give)
else
  local due, problem = give_due(give)
  if due and due < tonumber(ARGV[4]) then more, problem = give_new(ARGV[4] - due, give) end
  if problem then return is_gone(problem) and reply_without_entries(2) or problem end
  note_take()
end
extend_lease()
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[7], ends)
end
return build_reply(more)
