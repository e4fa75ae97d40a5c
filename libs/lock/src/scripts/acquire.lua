--[[
acquire: take a lock that nobody holds or waits for. If this owner has it already, return its fence.

KEYS[1]  lock     string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner    str     token of one acquisition, different for each acquisition of a name
ARGV[2]  leaseMs  int     1 or more
ARGV[3]  ttlMs    int     leaseMs plus the time for which the fence is kept after the lease

Returns {fence, leftMs}
  fence   int  of this acquisition if leftMs is 0, else the last fence
  leftMs  int  0: this owner has the lock; -1: the lock is free, but marked as waited for; else time until the holder's lease ends

O(1). TTL: ttlMs. Clock: Redis. Replay: returns the fence of the first call while its lease lasts.
]]
-- @include new-value
local raw = redis.call('SET', KEYS[1], new_value(ARGV[1], ARGV[2]), 'PX', ARGV[3], 'NX', 'GET')
if not raw then return { now_us, 0 } end
-- The same as parse_lock() of record.lua, without the function: defining a function makes a call slower that is not in a group.
local till, fence = tonumber(string.sub(raw, 1, 13)), tonumber(string.sub(raw, 15, 30))
if not till or not fence or #raw < 30 then
  return redis.error_reply('BADLOCK the key of the lock has a value that another program wrote, nothing was changed')
end
if till > now_ms then
  if string.sub(raw, 31) == ARGV[1] then return { fence, 0 } end
  return { fence, till - now_ms }
end
-- Other processes may wait and come first. The script `wait` reads their queue.
if string.sub(raw, 14, 14) == '1' then return { fence, -1 } end
fence = math.max(fence + 1, now_us)
redis.call('SET', KEYS[1], string.format('%013.0f0%016.0f', now_ms + ARGV[2], fence) .. ARGV[1], 'PX', ARGV[3])
return { fence, 0 }
