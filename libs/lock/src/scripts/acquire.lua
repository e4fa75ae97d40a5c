--[[
acquire: take a lock that nobody holds or waits for, or find that this owner has it already.

KEYS[1]  lock     string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner    str     token of one acquisition, no two of a name alike
ARGV[2]  leaseMs  int     1 or more
ARGV[3]  ttlMs    int     the lease, and how long the fence is kept beyond it

Returns {fence, leftMs}
  fence   int  of this acquisition, or of the holder's
  leftMs  int  0 when the lock is this owner's; -1 when it is free and others wait; else how long the holder's lease still lasts

O(1). TTL: ttlMs. Clock: Redis. Replay: returns the fence of the first call while its lease lasts.
]]
-- @include new-value
local raw = redis.call('SET', KEYS[1], new_value(ARGV[1], ARGV[2]), 'PX', ARGV[3], 'NX', 'GET')
if not raw then return { now_us, 0 } end
-- As `parse_lock` reads it: a function would cost a lone call more than this does.
local till, fence = tonumber(string.sub(raw, 1, 13)), tonumber(string.sub(raw, 15, 30))
if not till or not fence or #raw < 30 then
  return redis.error_reply('BADLOCK the key holds no lock, nothing was changed')
end
if till > now_ms then
  if string.sub(raw, 31) == ARGV[1] then return { fence, 0 } end
  return { fence, till - now_ms }
end
-- Processes that wait come first; `wait` finds the first of them.
if string.sub(raw, 14, 14) == '1' then return { fence, -1 } end
fence = math.max(fence + 1, now_us)
redis.call('SET', KEYS[1], string.format('%013.0f0%016.0f', now_ms + ARGV[2], fence) .. ARGV[1], 'PX', ARGV[3])
return { fence, 0 }
