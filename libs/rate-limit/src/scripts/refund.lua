--[[
refund: give back what one decision charged, as far as it still counts.

KEYS[1..]  states  per rule  string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
ARGV[1]   chargedUs  int        atUs of the decision that charged
ARGV[2..]  rules      list(str)  per rule its text, as for `consume`, then the hits that were charged, int >= 1

Returns {given}
  given  flat, per rule: int 0 to cost; less where the window has ended, or the bucket would have been empty; rounded

O(N log M). TTL: kept. Clock: Redis. Replay: gives back twice where as many hits still count, except in sliding-log.
Loops over KEYS, so it cannot run where literal keys are demanded.
]]
-- @include fixed-window
-- @include sliding-window
-- @include sliding-log
-- @include token-bucket
local given = {}
for n = 1, #KEYS do
  local rule, cost = parse_rule(ARGV[2 * n]), tonumber(ARGV[2 * n + 1])
  -- MGET, because GET would raise an error at a sorted set.
  local value = redis.call('MGET', KEYS[n])[1] or ''
  given[n] = rule.algorithm.refund(rule, KEYS[n], value, cost, tonumber(ARGV[1]))
end
return given
