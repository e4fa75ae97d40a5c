--[[
consume: count a request under those of its rules that allow it, or under none if a rule refuses. Shadow rules never refuse.

KEYS[1..]  keys  per rule two: its state (the counter), then its penalty (the block)
  state    string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
  penalty  string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>; its value is
                          <end of the block, ms>:<strikes>; strikes: number of earlier blocks that make the next one longer
ARGV[1]   charge  int        1 to count the request, 0 to decide only
ARGV[2..]  rules  list(str)  per rule two: its parameters, then the hits to count, int >= 0. Parameters are
  <algorithm>:<limit, hits a window>:<window ms>:<capacity>:<mode>:<penalty>
  capacity   burst for token-bucket, otherwise the limit; 0 if the limit is 0
  mode       '' | shadow: the rule never refuses | fresh: a block deletes the state
  penalty    '' without blocks, or <ms of the first block>:<ms of the longest block>; each block lasts twice as long as the one before

Returns {allowed, atUs, decisions}
  allowed    1, or 0 if a rule other than a shadow rule refuses the request
  atUs       int, time of the decision by Redis' clock, us since 1970
  decisions  flat, per rule four integers: verdict (0 allowed, 1 over the limit, 2 blocked); hits that count; ms until no
             hit counts and no block is in force; and a second time in ms: with verdict 0 until the number of allowed hits
             rises (0 if no hit counts), with verdict 1 or 2 until the request may be tried again

O(N) in the rules; sliding-log also in the hits that left the window and, if it refuses, in the cost. TTL: until the key counts
nothing; a missing TTL is set again. Clock: Redis. Replay: counts the request once more.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
]]
-- @include fixed-window
-- @include sliding-window
-- @include sliding-log
-- @include token-bucket
-- @include penalty
local charge, values, reply, charges = ARGV[1] == '1', redis.call('MGET', unpack(KEYS)), { 1, now_us }, {}

for n = 1, #KEYS / 2 do
  local rule, cost, key = parse_rule(ARGV[2 * n]), tonumber(ARGV[2 * n + 1]), KEYS[2 * n - 1]
  local used, reset_ms, retry_ms, next_ms, a, b, c = rule.algorithm.look(rule, key, values[2 * n - 1] or '', cost)
  -- 1e-9 allows for rounding errors, because token-bucket and sliding-window count fractions of hits.
  local over = used + cost > rule.capacity + 1e-9
  if not over then retry_ms = next_ms elseif cost > rule.capacity then retry_ms = rule.window_ms end
  local verdict = over and 1 or 0
  if rule.block_ms or values[2 * n] then
    local until_ms = apply_penalty(rule, key, KEYS[2 * n], values[2 * n], over and charge and rule.enforced)
    if until_ms > now_ms then
      if not over then retry_ms = 0 end
      -- With the mode fresh, a new window begins after the block, so until then only the block matters.
      if rule.fresh then retry_ms, reset_ms = 0, 0 end
      verdict, retry_ms, reset_ms = 2, math.max(retry_ms, until_ms - now_ms), math.max(reset_ms, until_ms - now_ms)
    end
  end
  if verdict > 0 and rule.enforced then reply[1] = 0 end
  local at = 4 * n - 1
  reply[at], reply[at + 1], reply[at + 2], reply[at + 3] = verdict, math.ceil(used - 1e-9), reset_ms, retry_ms
  charges[at], charges[at + 1], charges[at + 2], charges[at + 3] = used, a or 0, b or 0, c or 0
end

for n = 1, #KEYS / 2 do
  local rule, cost, key, at = parse_rule(ARGV[2 * n]), tonumber(ARGV[2 * n + 1]), KEYS[2 * n - 1], 4 * n - 1
  if charge and reply[1] == 1 and reply[at] == 0 and cost > 0 then
    reply[at + 1] = math.ceil(charges[at] + cost - 1e-9)
    reply[at + 2], reply[at + 3] =
      rule.algorithm.charge(rule, key, cost, charges[at + 1], charges[at + 2], charges[at + 3])
  else
    keep_ttl(key, now_ms + (values[2 * n - 1] == RENEWED and rule.window_ms or reply[at + 2]))
  end
end
return reply
