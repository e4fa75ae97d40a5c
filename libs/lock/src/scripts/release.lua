--[[
release: end the lease of this owner, and wake the processes that wait for the lock.

KEYS[1]  lock   string  <prefix>:lock:{<name>}:lock; waiting processes listen to a channel of the same name
ARGV[1]  owner  str     token of the acquisition

Returns released
  released  1 | 0  0 if another owner or forceUnlock has taken the lock meanwhile, or Redis has no such key

O(1). TTL: untouched, so the fence is kept. Clock: none. A lease that has ended is released, too,
until another owner takes the lock. Replay: returns 1 again until another owner takes the lock.
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
  return redis.error_reply('BADLOCK another program wrote the key of this lock; nothing was changed. Delete the key, or use another prefix')
end
-- The mark that processes wait stays, so that the script acquire leaves the free lock to the first of them.
redis.call('SETRANGE', KEYS[1], '0', '0000000000000')
if waits then redis.call('SPUBLISH', KEYS[1], 'released') end
return 1
