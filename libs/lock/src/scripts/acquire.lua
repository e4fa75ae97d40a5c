--[[
acquire: take a lock that nobody holds, or find that this owner has it already.

KEYS[1]  lock         string  <prefix>:lock:{<name>}:lock
ARGV[1]  owner        str     token of one acquisition, no two alike
ARGV[2]  leaseMs      int     1 or more
ARGV[3]  retentionMs  int     how long the fence is kept beyond the lease
ARGV[4]  waits        int     1 asks the next release to publish | 0

Returns {taken, fence, leftMs}
  taken   1 | 0  0 when another owner holds it
  fence   int    of this acquisition, or of the holder's
  leftMs  int    what is left of the lease

O(1). TTL: the lease and the retention. Clock: Redis. Replay: answers the fence of the first call while its lease lasts.
]]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local raw = redis.call('GET', KEYS[1])
local fence = 0
if raw then
  local seen, since, till, flag, owner = string.match(raw, '^(%d+) (%d+) (%d+) ([01]) (.*)$')
  if not seen then return redis.error_reply('BADLOCK the key holds no lock, nothing was changed') end
  fence = tonumber(seen)
  if tonumber(till) > now then
    if owner ~= ARGV[1] and flag == '0' and ARGV[4] == '1' then
      redis.call('SET', KEYS[1], string.format('%s %s %s 1 %s', seen, since, till, owner), 'KEEPTTL')
    end
    return { owner == ARGV[1] and 1 or 0, fence, till - now }
  end
end
-- The clock lets the fence rise after the key is gone; the stored one, when the clock stands or goes back.
fence = math.max(fence + 1, now_us)
redis.call('SET', KEYS[1], string.format('%.0f ', fence) .. now .. ' ' .. (now + ARGV[2]) .. ' 0 ' .. ARGV[1], 'PX', ARGV[2] + ARGV[3])
return { 1, fence, tonumber(ARGV[2]) }
