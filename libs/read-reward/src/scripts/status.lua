--[[
status: read the points and the remaining items of a user's period. Sets the TTL of the state if it is missing.

KEYS[1]  state   hash      <prefix>:read-reward:{<partition>}:state:<rule>:<user>
ARGV[1]  rule    str       nine integers joined by colons: limit of items, points of an item, limit of points or 0, how long `total`
                           keeps a user (ms) or 0, starts of five periods from the previous one on (ms since 1970)

Returns {status, points, used, remaining, resetsAt}
  status     int   1 open, 0 Redis' clock is in none of the previous, current and next period
  points     int   points of the period that were not refunded
  used       int   number of items that count in the period
  remaining  int   number of items that the period still rewards
  resetsAt   int   end of the user's period, ms after the start of the current period; with status 0 Redis' clock

O(1). TTL: set if it is missing. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include period
local rule, wrong = parse_rule(ARGV[1])
if not rule then return wrong end
local head = redis.call('HGET', KEYS[1], '')
if now_ms < rule.b0 or now_ms >= rule.b3 then return { OUTSIDE, 0, 0, 0, now_ms - rule.b1 } end
local _, _, to, expires, sum, seq, refunds = find_period(rule, head, now_ms)
keep_ttl(KEYS[1], expires)
local used = seq - refunds
return { 1, sum, used, count_room(rule, used, sum), to - rule.b1 }
