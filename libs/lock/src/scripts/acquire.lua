--[[
acquire: acquire a lock that nobody holds or waits for. If this owner has it already, return its fence (fencing token).

KEYS[1]  lock     string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner    str     token of one acquisition, different for each acquisition of a name
ARGV[2]  leaseMs  int     1 or more
ARGV[3]  ttlMs    int     leaseMs plus the time for which the fence is kept after the lease

Returns {fence, leftMs}
  fence   int  fence of this acquisition if leftMs is 0; otherwise the last fence of the lock
  leftMs  int  0: this owner has the lock; -1: the lock is free, but other processes may wait for it; otherwise ms until the lease ends

O(1). TTL: ttlMs. Clock: Redis. Replay: returns the fence of the first call until its lease ends; after that
it may acquire the lock again.
]]
-- @include new-value
if ARGV[1] ~= last_owner or ARGV[2] ~= last_lease then
  last_owner, last_lease = ARGV[1], ARGV[2]
  last_value = now_ms + last_lease .. '0' .. now_text .. last_owner
end
local raw = redis.call('SET', KEYS[1], last_value, 'PX', ARGV[3], 'NX', 'GET')
if not raw then return { now_us, 0 } end
-- Does the same as parse_lock() of record.lua. Defining a function here would make a single call slower.
local till, fence = tonumber(sub(raw, 1, 13)), tonumber(sub(raw, 15, 30))
if not till or not fence or #raw < 30 then
  return redis.error_reply('BADLOCK another program wrote the key of this lock; nothing was changed. Delete the key, or use another prefix')
end
if till > now_ms then
  if sub(raw, 31) == ARGV[1] then return { fence, 0 } end
  return { fence, till - now_ms }
end
-- Other processes may have waited longer. The script wait reads their queue.
if sub(raw, 14, 14) == '1' then return { fence, -1 } end
if fence < now_us then
  redis.call('SET', KEYS[1], last_value, 'PX', ARGV[3])
  return { now_us, 0 }
end
-- The time in microseconds is not higher than the last fence, for example because the clock was set back.
redis.call('SET', KEYS[1], sub(last_value, 1, 14) .. string.format('%016.0f', fence + 1) .. ARGV[1], 'PX', ARGV[3])
return { fence + 1, 0 }
