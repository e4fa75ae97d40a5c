--[[
refund: refund the hits that one decision charged, as far as they still count.

KEYS[1..]  states  per rule  string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
ARGV[1..]  rules   list(str)  per rule three: its parameters as for `consume`; the charged hits, int >= 1; what identifies the
                   charge: for fixed-window the end of its window, ms since 1970, negative if it was found by reading the present
                   window; else the time of the decision by Redis' clock, us since 1970

Returns {given}
  given  flat, per rule: refunded hits, int 0 to the charged hits; fewer if some of them no longer count,
         and of token-bucket perhaps fewer than still count

O(N), sliding-log O(log hits). TTL: until the key counts nothing; of fixed-window and sliding-log unchanged. Clock: Redis.
A window that was found by reading is not refunded if it began after a reset: it may be another one than the charged one.
Replay: refunds as many other hits of the subject, if there are any; fixed-window only hits of the same window, sliding-log only
hits of the same us and cost.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
]]
-- @include fixed-window
-- @include sliding-window
-- @include sliding-log
-- @include token-bucket
local given = {}
for n = 1, #KEYS do
  local rule, cost = parse_rule(ARGV[3 * n - 2]), tonumber(ARGV[3 * n - 1])
  -- MGET returns nil for the sorted set of sliding-log, where GET would fail.
  local value = redis.call('MGET', KEYS[n])[1] or ''
  given[n] = rule.algorithm.refund(rule, KEYS[n], value, cost, tonumber(ARGV[3 * n]))
end
return given
