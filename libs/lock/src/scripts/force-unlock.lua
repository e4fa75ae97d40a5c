--[[
force-unlock: take a lock from whoever holds it, and raise the fence.

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  retentionMs  int     how long the fence is kept

Returns {forced, fence}
  forced  1 | 0  0 when nobody held it
  fence   int    the raised one

O(1). TTL: the retention. Clock: Redis. Replay: raises the fence again, and would take the lock from a new holder.
]]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local fence, till = '0', '0'
local raw = redis.call('GET', KEYS[1])
if raw then
  fence, till = string.match(raw, '^(%d+) %d+ (%d+) [01] ')
  if not fence then return redis.error_reply('BADLOCK the key holds no lock, nothing was changed') end
end
local raised = math.max(fence + 1, now_us)
redis.call('SET', KEYS[1], string.format('%.0f 0 0 0 ', raised), 'PX', ARGV[1])
redis.call('SPUBLISH', KEYS[1], 'forced')
return { tonumber(till) > math.floor(now_us / 1000) and 1 or 0, raised }
