--[[
consume: charge one request to all of its rules, or to none of them when one refuses it.

KEYS[1..]  keys  per rule its state, then its penalty
  state    string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<subject>
  penalty  string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>, <until ms>:<strikes>
ARGV[1]   charge  int        1 to charge, 0 only to look
ARGV[2..]  rules  list(str)  per rule seven values
  algorithm  fixed-window | sliding-window | sliding-log | token-bucket
  limit      int >= 0, hits a window    windowMs  int >= 1, ms
  cost       int >= 0, hits to charge   capacity  int >= 0, the burst of token-bucket, else the limit
  mode       '' | shadow, refuses nothing | fresh, a penalty clears the state
  penalty    '' or <ms>:<factor>:<most ms>:<memory ms>

Returns {allowed, atUs, decisions}
  allowed    0 when a rule that is no shadow refuses
  atUs       Redis' time of the decision, us
  decisions  flat, per rule: verdict (0 passes, 1 over the limit, 2 blocked), hits used, ms to the reset, ms to a retry

O(N), sliding-log O(N hits that left the window). TTL: to the end of what a key counts; a lost one is set again.
Clock: Redis. Replay: charges once more. Loops over KEYS, so it cannot run where literal keys are demanded.
]]
local charge, values, rules = ARGV[1] == '1', redis.call('MGET', unpack(KEYS)), {}
local reply = { 1, now_us }

for n = 1, #KEYS / 2 do
  local at = 7 * n - 5
  local window_ms, cost, capacity = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local rule = {
    algorithm = algorithms[ARGV[at]], key = KEYS[2 * n - 1], limit = tonumber(ARGV[at + 1]), window_ms = window_ms,
    cost = cost, capacity = capacity, verdict = 0,
  }
  local used, reset_ms, retry_ms = rule.algorithm.look(rule, values[2 * n - 1] or '')
  -- The level of a bucket is a fraction: what is less than a billionth of a hit too much is rounding.
  local over, enforced = used + cost > capacity + 1e-9, ARGV[at + 5] ~= 'shadow'
  if not over then retry_ms = 0 elseif cost > capacity then retry_ms = window_ms end

  local penalty = values[2 * n]
  if penalty or ARGV[at + 6] ~= '' then
    local until_ms, strikes = string.match(penalty or '', '^(%d+):(%d+)$')
    local first_ms, factor, most_ms, memory_ms = string.match(ARGV[at + 6], '^(%d+):(%d+):(%d+):(%d+)$')
    until_ms, strikes = tonumber(until_ms) or 0, math.min(tonumber(strikes) or 0, 1000)
    local forgotten_ms = until_ms + (memory_ms or LONGEST_MS)
    if forgotten_ms <= now_ms or until_ms > now_ms + LONGEST_MS then until_ms, strikes = 0, 0 end
    if over and charge and enforced and first_ms and until_ms <= now_ms then
      until_ms = now_ms + math.min(most_ms, first_ms * factor ^ strikes)
      redis.call('SET', KEYS[2 * n], string.format('%.0f:%d', until_ms, strikes + 1), 'PXAT', until_ms + memory_ms)
      if ARGV[at + 5] == 'fresh' then
        redis.call('DEL', rule.key)
        retry_ms = 0
      end
    else
      keep_ttl(KEYS[2 * n], math.max(until_ms, now_ms) + (memory_ms or LONGEST_MS))
    end
    if until_ms > now_ms then
      rule.verdict, retry_ms, reset_ms = 2, math.max(retry_ms, until_ms - now_ms), math.max(reset_ms, until_ms - now_ms)
    end
  end
  if over and rule.verdict == 0 then rule.verdict = 1 end
  if rule.verdict > 0 and enforced then reply[1] = 0 end
  rule.used, rule.reset_ms, rule.retry_ms = used, reset_ms, retry_ms
  rules[n] = rule
end

for n = 1, #rules do
  local rule = rules[n]
  if charge and reply[1] == 1 and rule.verdict == 0 and rule.cost > 0 then
    rule.used, rule.reset_ms = rule.used + rule.cost, rule.algorithm.charge(rule)
  else
    keep_ttl(rule.key, now_ms + rule.reset_ms)
  end
  local at = 4 * n - 1
  reply[at], reply[at + 1] = rule.verdict, math.ceil(rule.used - 1e-9)
  reply[at + 2], reply[at + 3] = rule.reset_ms, rule.retry_ms
end
return reply
