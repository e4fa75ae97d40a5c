--[[
record: count an item that a user read and grant its points, if the item is new and the period has room. `record-fully` does
the same and more.

KEYS[1]  items   set   <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state   hash  <prefix>:read-reward:{<shard>}:state:<rule>:<user>
ARGV[1]  itemId  str   1 to 256 characters
ARGV[2]  token   str   id of the call; no other call has it
ARGV[3]  rule    str   nine integers joined by colons: limit of items, points of an item, limit of points or 0, how long `total`
                       keeps a user (ms) or 0, starts of five periods from the previous one on (ms since 1970)

Returns brief | {status, points, used, remaining, seq, start, resetsAt}
  brief      int   in the current period of a rule without a limit of points: ((seq - used) * 2^20 + used) * 4 + status with a
                   grant, otherwise used * 4 + status
  status     int   1 rewarded, 2 duplicate, 3 capped, 0 Redis' clock is in none of the previous, current and next period
  points     int   points granted by this call
  used       int   items that count in the period
  remaining  int   items that the period still rewards
  seq        int   number of the grant in the period; 0 without a grant
  start      int   start of the user's period, ms after the start of the current period; for `total`, time of the first grant
  resetsAt   int   end of the user's period, ms after the start of the current period; with status 0 Redis' clock

O(1). TTL: items: end of the period; state: end of the next period; for `total` both the time in `rule`. The first grant (for
`total`, each grant) sets them; a call that is not a replay sets a TTL that is missing. Clock: Redis. Replay: the first result
while the grant exists, found by the token next to the item.
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
-- Mostly SADD reports if the item is new. Here it must be looked up first: the period is full, the set was evicted or is of a
-- period that has ended, or nothing may be written because the clock is in none of the periods.
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
  -- This is the first write of the grant: if Redis refuses it, nothing was granted. The permissions for the others were checked above.
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
