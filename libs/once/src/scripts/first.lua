--[[
first: remember an id, and report to one call that it was the first.

KEYS[1]  first        string    <prefix>:once:{<id>}:first
ARGV[1]  token        str       identifies the call
ARGV[2]  retentionMs  int >= 1  how long the id is remembered, ms

Returns first
  first  1 | 0   1: this call, or a call with this token before it, was the first

O(1). TTL: retentionMs, set by the same command. Clock: Redis. Replay: returns what the first call did, by its token.
]]
-- NX with GET returns the old value, or nothing if this call has set it; a wrong type or TTL is an error without a write.
local had = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if not had or had == ARGV[1] then return 1 end
return 0
