--[[
first: remember an id, and tell the one call that was first.

KEYS[1]  first        string    <prefix>:once:{<id>}:first
ARGV[1]  token        str       names the call
ARGV[2]  retentionMs  int >= 1  how long the id is remembered, ms

Returns first
  first  1 | 0   1: this call, or a call with this token before it, was the first

O(1). TTL: retentionMs, set by the same command. Clock: Redis. Replay: answers as the first call did, by its token.
]]
-- NX with GET answers what was there, and nothing when this call has set it; a wrong type or TTL errors without a write.
local had = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
if not had or had == ARGV[1] then return 1 end
return 0
