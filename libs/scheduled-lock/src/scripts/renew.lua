--[[
renew: start the lease of a run again, unless it has ended.

KEYS[1]  state        hash  <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
ARGV[1]  owner        str   token of the run
ARGV[2]  leaseMs      int   length of the lease from now, ms; 1 or more
ARGV[3]  retentionMs  int   how long slot and fence are kept after the lease, ms

Returns held
  held  1 | 0  0 if the run or its lease has ended, or another run has the lock

O(1). TTL: leaseMs + retentionMs. Clock: Redis. Replay: renews again.
]]
local seen = redis.call('HMGET', KEYS[1], 'owner', 'till', 'done')
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if seen[1] ~= ARGV[1] or seen[3] == '1' or tonumber(seen[2]) <= now_ms then return 0 end
redis.call('HSET', KEYS[1], 'till', string.format('%.0f', now_ms + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
return 1
