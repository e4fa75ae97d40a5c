--[[
first: remember an id, and return 1 to the first call and 0 to later calls.

KEYS[1]  first        string    <prefix>:once:{<id>}:first
ARGV[1]  token        str       identifies the call
ARGV[2]  retentionMs  int >= 1  time for which the id is remembered, ms

Returns first
  first  1 | 0   1: this call, or an earlier call with the same token, was the first

O(1). TTL: retentionMs, set by the same command. Clock: Redis. Replay: returns the same, because of the token.
]]
-- SET with NX and GET returns the old value, or nothing if this call has set the value. For a key of another type or an
-- invalid TTL, SET fails and writes nothing.
local had = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if not had or had == ARGV[1] then return 1 end
return 0
