--[[
record: count an item that a user read, once, and grant its points, while the period has room; `record-fully` does the
same and more.

KEYS[1]  items   set   <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state   hash  <prefix>:read-reward:{<shard>}:state:<rule>:<user>
ARGV[1]  itemId  str   1 to 256 characters
ARGV[2]  token   str   names the call; no other call has it
ARGV[3]  rule    str   ints joined by colons: limit, points of an item, cap of points or 0, ms for which `total` keeps a
                       user or 0, starts of the previous, the current, the next period and the two after it, ms since 1970

Returns brief | {status, points, used, remaining, seq, start, resetsAt}
  brief      int   ((seq - used) * 2^20 + used) * 4 + status with a grant, else used * 4 + status: the current period, no cap
  status     int   1 rewarded, 2 duplicate, 3 capped, 0 Redis' clock is in none of the three periods
  points     int   granted by this call
  used       int   items that count in the period
  remaining  int   items that it would still reward
  seq        int   number of the grant in the period, 0 without one
  start      int   start of the user's period, ms after the current one's; of `total`, Redis' clock at the first grant
  resetsAt   int   its end, likewise; Redis' clock with status 0

O(1). TTL: items to the end of the period, state one period beyond, set at the first grant and again where it is lost.
Clock: Redis. Replay: the first answer while the grant stands, by the token beside the item.
]]
-- @include clock
-- @include period
local rule, wrong = rule_of(ARGV[3])
if not rule then return wrong end
local held, head = redis.call('SCARD', KEYS[1]), redis.call('HGET', KEYS[2], '')
local fresh, from, to, expires, sum, seq, used = period_of(rule, head, now_ms)
local inside, lost, left = now_ms >= rule.b0 and now_ms < rule.b3, held < used, (fresh and head or fresh and held > 0) and true
used = (fresh or lost) and used or held
local room, known = room_in(rule, used, sum), 0
-- Mostly SADD will say whether the item is a member; not where the set is full, was evicted, or is of a period that ended.
if room == 0 or lost or left or not inside then
  known = redis.call('SISMEMBER', KEYS[1], ARGV[1])
  -- A set that was evicted, or that another clock expired, does not make room: the state knows what was granted.
  local grant = (known == 1 or lost or left) and redis.call('HGET', KEYS[2], ARGV[1])
  local first = grant and first_answer(rule, head, grant, ARGV[2])
  if first then return first end
  if not inside then return { OUTSIDE, 0, 0, 0, 0, 0, now_ms - rule.b1 } end
  if fresh then known = 0 elseif grant then known = 1 end
end
if room > 0 and known == 0 then
  permitted = permitted or redis.acl_check_cmd('HSET', KEYS[2], 'f', 'v') and redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
  if not permitted then return redis.error_reply(DENIED) end
  if left then redis.call('UNLINK', KEYS[1], KEYS[2]) end
  -- First of the writes: when it is refused nothing was written, and what follows was asked for.
  if redis.call('SADD', KEYS[1], ARGV[1]) == 1 then
    local granted = rule.cap > 0 and math.min(rule.each, rule.cap - sum) or rule.each
    used, sum, seq, room = used + 1, sum + granted, seq + 1, room - 1
    if rule.total_ms > 0 then expires = string.format('%.0f', now_ms + rule.total_ms) end
    redis.call('HSET', KEYS[2], '', head_of(from, to, expires, sum, seq, used), ARGV[1], grant_of(seq, granted, used, room, ARGV[2]))
    if fresh or rule.total_ms > 0 then
      redis.call('PEXPIREAT', KEYS[2], expires)
      redis.call('PEXPIREAT', KEYS[1], rule.total_ms > 0 and expires or to)
    else
      keep_ttl(KEYS[2], expires)
      keep_ttl(KEYS[1], to)
    end
    if is_brief(rule, from, to) then return ((seq - used) * 1048576 + used) * 4 + REWARDED end
    return { REWARDED, granted, used, room, seq, from - rule.b1, to - rule.b1 }
  end
  known = 1
  local first = first_answer(rule, head, redis.call('HGET', KEYS[2], ARGV[1]), ARGV[2])
  if first then return first end
end
keep_ttl(KEYS[1], rule.total_ms > 0 and expires or to)
keep_ttl(KEYS[2], expires)
local status = known == 1 and DUPLICATE or CAPPED
if is_brief(rule, from, to) then return used * 4 + status end
return { status, 0, used, room, 0, from - rule.b1, to - rule.b1 }
