--[[
status: tell who holds a lock.

KEYS[1]  lock  string  <prefix>:lock:{<name>}:lock

Returns {held, fence, since, till, owner}
  held   1 | 0  0 when free
  fence  int   the last one; 0 when none is known
  since  int   ms since the epoch; 0 when free
  till   int   ms since the epoch; 0 when free
  owner  str   '' when free

O(1). TTL: untouched. Clock: Redis. Replay: reads again.
]]
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0, 0, 0, 0, '' } end
local fence, since, till, owner = string.match(raw, '^(%d+) (%d+) (%d+) [01] (.*)$')
if not fence then return redis.error_reply('BADLOCK the key holds no lock') end
local time = redis.call('TIME')
if tonumber(till) <= time[1] * 1000 + math.floor(time[2] / 1000) then return { 0, tonumber(fence), 0, 0, '' } end
return { 1, tonumber(fence), tonumber(since), tonumber(till), owner }
