--[[
begin-action: add an action of an operator to the log, before the action runs.

KEYS[1]  order        zset      <prefix>:console:{log}:order    tokens of the entries, by their times in microseconds
KEYS[2]  entries      hash      <prefix>:console:{log}:entries  b<token>: who does what; e<token>: the result
ARGV[1]  token        str       identifies the entry
ARGV[2]  text         str       who does what, as JSON
ARGV[3]  keep         int >= 1  number of the newest entries that are kept
ARGV[4]  retentionMs  int >= 1  time for which an entry is kept, ms

Returns at_us
  at_us  str  time of the entry, microseconds since 1970; larger than that of each earlier entry

O(log N) and O(removed entries). TTL: retentionMs from the newest entry. Clock: Redis. Replay: the same token gets the same reply.
]]
-- @include clock
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
-- Raises an error before the first write if the key of the entries has another type.
redis.call('HLEN', KEYS[2])
if known then return known end
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
local at_us = string.format('%.0f', math.max(now_us, (newest or 0) + 1))
redis.call('ZADD', KEYS[1], at_us, ARGV[1])
redis.call('HSET', KEYS[2], 'b' .. ARGV[1], ARGV[2])
local expired = redis.call('ZCOUNT', KEYS[1], '-inf', string.format('%.0f', now_us - ARGV[4] * 1000))
local surplus = math.max(expired, redis.call('ZCARD', KEYS[1]) - ARGV[3])
if surplus > 0 then
  for _, token in ipairs(redis.call('ZRANGE', KEYS[1], 0, surplus - 1)) do
    redis.call('HDEL', KEYS[2], 'b' .. token, 'e' .. token)
  end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, surplus - 1)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return at_us
