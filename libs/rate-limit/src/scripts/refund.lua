--[[
refund: give back what one decision charged, as far as it still counts.

KEYS[1..]  states  per rule  string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<subject>
ARGV[1]   chargedUs  int        atUs of the decision that charged
ARGV[2..]  rules      list(str)  per rule four values
  algorithm  fixed-window | sliding-window | sliding-log | token-bucket
  limit      int >= 0, hits a window   windowMs  int >= 1, ms   cost  int >= 1, hits that were charged

Returns {given}
  given  flat, per rule: int 0 to cost; less where the window has ended, or tokens have come back; a bucket's is rounded

O(N log M). TTL: kept. Clock: Redis. Replay: gives back twice where as many hits still count, except in sliding-log.
Loops over KEYS, so it cannot run where literal keys are demanded.
]]
local given = {}

for n = 1, #KEYS do
  local at = 4 * n - 2
  local rule = {
    key = KEYS[n], limit = tonumber(ARGV[at + 1]), window_ms = tonumber(ARGV[at + 2]), cost = tonumber(ARGV[at + 3]),
    charged_us = tonumber(ARGV[1]),
  }
  -- MGET, because GET would raise an error at a sorted set.
  given[n] = algorithms[ARGV[at]].refund(rule, redis.call('MGET', KEYS[n])[1] or '')
end
return given
