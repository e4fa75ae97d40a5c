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
Clock: Redis. Replay: the first answer while the grant stands, by the token next to the item.
]]
-- @include clock
-- @include grants
-- @include record-answers
local rule, wrong = parse_rule(ARGV[3])
if not rule then return wrong end
local held, head = redis.call('SCARD', KEYS[1]), redis.call('HGET', KEYS[2], '')
local is_new, from, to, expires, sum, seq, used = find_period(rule, head, now_ms)
local is_inside, is_evicted = now_ms >= rule.b0 and now_ms < rule.b3, held < used
local has_old_keys = is_new and (head or held > 0)
if not is_new and not is_evicted then used = held end
local room, known = count_room(rule, used, sum), 0
-- Mostly SADD reports whether the item is a member; not where the set is full, was evicted, or is of a period that ended.
if room == 0 or is_evicted or has_old_keys or not is_inside then
  local first
  known, first = find_item(KEYS[1], KEYS[2], ARGV[1], ARGV[2], rule, head, is_evicted or has_old_keys)
  if first then return first end
  if not is_inside then return { OUTSIDE, 0, 0, 0, 0, 0, now_ms - rule.b1 } end
  if is_new then known = 0 end
end
if room > 0 and known == 0 then
  permitted = permitted or redis.acl_check_cmd('HSET', KEYS[2], 'f', 'v') and redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
  if not permitted then return redis.error_reply(DENIED) end
  if has_old_keys then redis.call('UNLINK', KEYS[1], KEYS[2]) end
  -- The first write: if Redis refuses it nothing was written, and the permissions for the others were checked.
  if redis.call('SADD', KEYS[1], ARGV[1]) == 1 then
    local points = next_points(rule, sum)
    used, sum, seq, room, expires = used + 1, sum + points, seq + 1, room - 1, expiry_after(rule, expires)
    redis.call('HSET', KEYS[2], '', format_head(from, to, expires, sum, seq, used), ARGV[1], format_grant(seq, points, used, room, ARGV[2]))
    set_ttls(KEYS[1], KEYS[2], is_new or rule.total_ms > 0, rule.total_ms > 0 and expires or to, expires)
    return build_answer(rule, from, to, REWARDED, points, used, room, seq)
  end
  known = 1
  local first = first_answer(rule, head, redis.call('HGET', KEYS[2], ARGV[1]), ARGV[2])
  if first then return first end
end
set_ttls(KEYS[1], KEYS[2], false, rule.total_ms > 0 and expires or to, expires)
return build_answer(rule, from, to, known == 1 and DUPLICATE or CAPPED, 0, used, room, 0)
