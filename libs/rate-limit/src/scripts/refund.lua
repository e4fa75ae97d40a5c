--[[
refund: take back the hits of one decision, as far as they still count.

KEYS[1..]  states  per rule  string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
ARGV[1..]  rules   list(str)  per rule three: its parameters as in the script consume; the hits to take back, int >= 1; a number
                   that identifies the decision: its time by Redis' clock, us since 1970; for fixed-window the end of its window, ms
                   since 1970, negative if the end was found by reading the present window

Returns {given}
  given  flat, per rule: hits that were taken back; fewer than requested if some no longer count,
         and for token-bucket perhaps fewer than still count

O(N), sliding-log O(log hits). TTL: until the key counts nothing; unchanged for fixed-window and sliding-log. Clock: Redis.
If the end is negative and the subject was reset, nothing is taken: the window may have begun after the hits were counted.
Replay: takes back as many other hits of the subject, if there are any; with fixed-window only those of the same window, with
sliding-log only those of the same us and cost.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
]]
-- @include fixed-window
-- @include sliding-window
-- @include sliding-log
-- @include token-bucket
local given = {}
for n = 1, #KEYS do
  local rule, cost = parse_rule(ARGV[3 * n - 2]), tonumber(ARGV[3 * n - 1])
  -- For the sorted set of sliding-log, MGET returns nil, where GET would raise an error.
  local value = redis.call('MGET', KEYS[n])[1] or ''
  given[n] = rule.algorithm.refund(rule, KEYS[n], value, cost, tonumber(ARGV[3 * n]))
end
return given
