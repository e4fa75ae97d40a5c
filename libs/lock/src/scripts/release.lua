--[[
release: end the lease of this owner, and wake the processes that wait for the lock.

KEYS[1]  lock   string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  owner  str     token of the acquisition

Returns released
  released  1 | 0  0 when another owner or forceUnlock took the lock since, or Redis has no key

O(1). TTL: untouched, so the fence is kept. Clock: none: the owner is in the value until another owner takes the lock, so a lease
that has ended is released too. Replay: returns 1 again until another owner takes the lock.
]]
-- @include verdict
local raw = redis.call('GET', KEYS[1])
if not raw then return 0 end
if raw ~= last_raw or ARGV[1] ~= last_owner then
  last_raw, last_owner = raw, ARGV[1]
  mine, waits = string.sub(raw, 31) == last_owner, string.sub(raw, 14, 14) == '1'
end
if not mine then
  if #raw >= 30 and tonumber(string.sub(raw, 1, 13)) then return 0 end
  return redis.error_reply('BADLOCK the key of the lock has a value that another program wrote, nothing was changed')
end
-- The mark of waiting processes stays, so that `acquire` leaves the free lock to the first of them.
redis.call('SETRANGE', KEYS[1], '0', '0000000000000')
if waits then redis.call('SPUBLISH', KEYS[1], 'released') end
return 1
