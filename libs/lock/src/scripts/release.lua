--[[
release: end the lease of this owner, and wake the processes that wait for the lock.

KEYS[1]  lock   string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  owner  str     token of the acquisition

Returns {released}
  released  1 | 0  0 when the lease had ended before, or another owner has the lock

O(1). TTL: untouched, so the fence is kept. Clock: Redis. Replay: returns 1 again while the key has this owner.
]]
-- @include verdict
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0 } end
local verdict, waits = judge(raw, ARGV[1])
if not verdict then return redis.error_reply('BADLOCK the key of the lock has a value that another program wrote, nothing was changed') end
if verdict ~= 'held' then return { verdict == 'released' and 1 or 0 } end
-- The mark of waiting processes stays, so that `acquire` leaves the free lock to the first of them.
redis.call('SETRANGE', KEYS[1], '0', '0000000000000')
if waits == '1' then redis.call('SPUBLISH', KEYS[1], 'released') end
return { 1 }
