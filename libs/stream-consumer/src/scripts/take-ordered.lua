--[[
take-ordered: take entries as the script take does, but only one entry of a key at a time, its head. The later entries of the key are
parked until the head is finished: Redis lists them for a consumer of their own, named `parked <key>`.

KEYS[1]  stream     stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions   zset    ...:sessions:<group>
KEYS[3]  takes      hash    ...:takes:<group>
KEYS[4]  due        zset    ...:due:<group>
KEYS[5]  tries      hash    ...:tries:<group>
KEYS[6]  woken      string  ...:woken, as in take
KEYS[7]  unsettled  set     ...:unsettled:<group>, as in take
KEYS[8]  heads      hash    ...:heads:<group>; for each key its head: the entry that may be handled now
ARGV[1]  group      str
ARGV[2]  session    str     name under which the process holds entries, without spaces. After a loss, it uses a new name
ARGV[3]  token      str     identifies this call, to detect a replay; without spaces
ARGV[4]  count      int 1..128
ARGV[5]  leaseMs    int >= 1
ARGV[6]  begins     int     1 if the process uses this name for the first time | 0
ARGV[7]  maxKeys    int     if `heads` has this many keys, no new entries are read

Returns {state, more, dueIn, endIn, now, again, entries}
  state    1: taken | 0: the process has lost its entries | 2: there is no such group
  more     1: there may be more entries | 2: no new entries were read because of `maxKeys` | 0: no more entries
  dueIn    int  ms until the next retry is due; -1 if no entry waits for a retry
  endIn    int  ms until the next lease ends; 0 if a lease has ended, -1 if there is none
  now      int  ms since 1970
  again    int  number of entries with six values, which come first
  entries  str  entries, as the script take returns them

O(count * log pending). TTL: the stream's. Clock: Redis. Replay: returns those entries of the first call that still exist. If a
later call of this process has returned entries, a replay changes nothing and returns state 1 without entries.
]]
-- @include taking
-- @include consumers
-- @include ids
-- @include own-fields or foreign-fields
-- Returns true if the head of a key is unfinished. An unfinished head that is not pending was removed by another client, for example by
-- XGROUP DELCONSUMER: its handler may still run, and the script repair will add it again, unless the stream no longer has it.
local function is_open(head)
  if #redis.call('XPENDING', KEYS[1], ARGV[1], head, head, 1) > 0 then return true end
  return redis.call('SISMEMBER', KEYS[7], head) == 1 and redis.call('XRANGE', KEYS[1], head, head)[1] ~= nil
end

-- Returns true if an entry is the head of its key (the only entry of the key that may be handled now), or becomes the head. If older
-- entries of the key wait, this entry must wait, too, even if the key has lost its head: the script repair makes the oldest one the head.
local function may_run(key, id)
  local head = redis.call('HGET', KEYS[8], key)
  if head == id or head and is_open(head) then return head == id end
  local first = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, parking_name(key))[1]
  if first and comes_after(id, first[1]) then return false end
  redis.call('HSET', KEYS[8], key, id)
  return true
end

local function give(entry, tried)
  local payload, key, operation, group = read_fields(entry[2])
  local is_ours = group == '' or group == ARGV[1]
  if key ~= '' and is_ours and not may_run(key, entry[1]) then
    parked[#parked + 1] = entry[1]
    return redis.call('XCLAIM', KEYS[1], ARGV[1], parking_name(key), 0, entry[1], 'JUSTID')
  end
  add_entry(entry[1], tried, is_ours, payload, key, operation)
end

if is_session_lost() then return reply_without_entries(0) end
redis.call('HLEN', KEYS[5])
redis.call('SCARD', KEYS[7])
local last_token, last_ids = last_take()
if is_late(last_token) then return reply_without_entries(1) end
local more, is_blocked, busy = true, false, redis.call('HLEN', KEYS[8])
if last_token == ARGV[3] then
  repeat_take(last_ids, give)
else
  local due, problem = give_due(give)
  -- Many of the new entries may have to be parked. So new entries are read in up to four rounds, until the reply is full.
  local rounds = due and due < tonumber(ARGV[4]) and 4 or 0
  while rounds > 0 and more and #ids < tonumber(ARGV[4]) and busy < tonumber(ARGV[7]) do
    more, problem = give_new(ARGV[4] - #ids, give)
    rounds, busy = rounds - 1, redis.call('HLEN', KEYS[8])
  end
  if problem then return is_gone(problem) and reply_without_entries(2) or problem end
  is_blocked = busy >= tonumber(ARGV[7]) and #ids == 0
  more = more and not is_blocked
  note_take()
end
extend_lease()
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[2], ends)
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[4], ends)
  redis.call('PEXPIREAT', KEYS[7], ends)
  redis.call('PEXPIREAT', KEYS[8], ends)
end
return build_reply(more, is_blocked)
