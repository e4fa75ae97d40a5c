--[[
refund: remove hits that one decision charged and that still count.

KEYS[1..]  states  per rule  string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
ARGV[1]   chargedUs  int        atUs of the decision that charged
ARGV[2..]  rules      list(str)  per rule its text, as for `consume`, then the hits that were charged, int >= 1

Returns {given}
  given  flat, per rule: refunded hits, int 0 to cost; fewer if the window has ended or the bucket would have been empty

O(N log M). TTL: unchanged. Clock: Redis. Replay: refunds other hits of the subject, if there are any; not in sliding-log.
Loops over KEYS, so it cannot run where literal keys are required.
]]
-- @include fixed-window
-- @include sliding-window
-- @include sliding-log
-- @include token-bucket
local given = {}
for n = 1, #KEYS do
  local rule, cost = parse_rule(ARGV[2 * n]), tonumber(ARGV[2 * n + 1])
  -- MGET, because GET fails on a sorted set.
  local value = redis.call('MGET', KEYS[n])[1] or ''
  given[n] = rule.algorithm.refund(rule, KEYS[n], value, cost, tonumber(ARGV[1]))
end
return given
