--[[
status: read the points of a user's period and what is left of it; changes only a TTL that was lost.

KEYS[1]  items   set       <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state   hash      <prefix>:read-reward:{<shard>}:state:<rule>:<user>
ARGV[1]  rule    str       as `record` takes it

Returns {status, points, used, remaining, resetsAt}
  status     int   1 open, 0 Redis' clock is in none of the three periods
  points     int   granted in the period
  used       int   items that count in it
  remaining  int   items that it would still reward
  resetsAt   int   end of the user's period, ms after the start of the current one; Redis' clock with status 0

O(1). TTL: set again where it is lost. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include period
local rule, wrong = parse_rule(ARGV[1])
if not rule then return wrong end
local used, head = redis.call('SCARD', KEYS[1]), redis.call('HGET', KEYS[2], '')
if now_ms < rule.b0 or now_ms >= rule.b3 then return { OUTSIDE, 0, 0, 0, now_ms - rule.b1 } end
local fresh, _, to, expires, sum, _, count = find_period(rule, head, now_ms)
keep_ttl(KEYS[1], rule.total_ms > 0 and expires or to)
keep_ttl(KEYS[2], expires)
used = fresh and 0 or math.max(used, count)
return { 1, sum, used, count_room(rule, used, sum), to - rule.b1 }
