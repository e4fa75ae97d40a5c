--[[
release: give a lock up, if this owner still has it, and wake those that wait for it.

KEYS[1]  lock   string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  owner  str     token of the acquisition

Returns {released}
  released  1 | 0  0 when the lease was over before, or another owner has the lock

O(1). TTL: untouched, so the fence is kept. Clock: Redis. Replay: returns 1 again until another owner takes the lock.
]]
-- @include verdict
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0 } end
local verdict, waits = judge(raw, ARGV[1])
if not verdict then return redis.error_reply('BADLOCK the key holds no lock, nothing was changed') end
if verdict ~= 'held' then return { verdict == 'released' and 1 or 0 } end
-- The mark of waiting processes stays: the lock is kept for the first of them.
redis.call('SETRANGE', KEYS[1], '0', '0000000000000')
if waits == '1' then redis.call('SPUBLISH', KEYS[1], 'released') end
return { 1 }
