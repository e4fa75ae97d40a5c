--[[
renew: let a lease start anew, for the owner whose lease still lasts.

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner        str     token of the acquisition
ARGV[2]  leaseMs      int     1 or more, from now
ARGV[3]  retentionMs  int     how long the fence is kept beyond the lease

Returns {held, fence}
  held   1 | 0  0 when the lease is over, or another's
  fence  int    as stored; 0 when the key is gone

O(1). TTL: the lease and the retention. Clock: Redis. Replay: renews again.
]]
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0, 0 } end
local fence, since, till, flag, owner = string.match(raw, '^(%d+) (%d+) (%d+) ([01]) (.*)$')
if not fence then return redis.error_reply('BADLOCK the key holds no lock, nothing was changed') end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if owner ~= ARGV[1] or tonumber(till) <= now then return { 0, tonumber(fence) } end
local value = string.format('%s %s %.0f %s %s', fence, since, now + ARGV[2], flag, owner)
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + ARGV[3])
return { 1, tonumber(fence) }
