--[[
release: give a lock up, if this owner still has it, and wake those that wait for it.

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock; also the name of the sharded channel
ARGV[1]  owner        str     token of the acquisition
ARGV[2]  retentionMs  int     how long the fence is kept

Returns released
  released  1 | 0  0 when the lease was over before, or another's

O(1). TTL: the retention. Clock: Redis. Replay: answers 1 again until another owner takes the lock.
]]
local raw = redis.call('GET', KEYS[1])
if not raw then return 0 end
local fence, since, till, flag, owner = string.match(raw, '^(%d+) (%d+) (%d+) ([01]) (.*)$')
if not fence then return redis.error_reply('BADLOCK the key holds no lock, nothing was changed') end
if owner ~= ARGV[1] then return 0 end
-- An end of 0 is a release; the owner stays written, so that a replay is told the same.
if till == '0' then return 1 end
local time = redis.call('TIME')
if tonumber(till) <= time[1] * 1000 + math.floor(time[2] / 1000) then return 0 end
redis.call('SET', KEYS[1], fence .. ' ' .. since .. ' 0 0 ' .. owner, 'PX', ARGV[2])
if flag == '1' then redis.call('SPUBLISH', KEYS[1], 'released') end
return 1
