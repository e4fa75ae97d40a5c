--[[
status: what a user's period has given and what it still holds; changes nothing.

KEYS[1]  items   set       <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state   hash      <prefix>:read-reward:{<shard>}:state:<rule>:<user>
ARGV[1]  limit   int >= 0  items that a period rewards
ARGV[2]  points  int >= 1  points of an item
ARGV[3]  cap     int >= 0  points that a period gives; 0 none
ARGV[4]  b0      int       start of the previous period, ms since 1970
ARGV[5]  b1      int       start of the current period
ARGV[6]  b2      int       start of the next period
ARGV[7]  b3      int       end of the next period
ARGV[8]  b4      int       end of the period after that

Returns {status, points, used, remaining, resetsAt}
  status     str   open | outside: Redis' clock, in resetsAt, is in none of the three periods
  points     int   granted in the period
  used       int   items that count in it
  remaining  int   items that it would still reward
  resetsAt   int   end of the user's period, ms since 1970

O(1). TTL: untouched. Clock: Redis. Replay: reads again.
]]
local limit, each, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local b0, b1, b2, b3, b4 = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < b0 or now >= b3 then return { 'outside', 0, 0, 0, now } end
local state, used = redis.call('HMGET', KEYS[2], 'end', 'points'), redis.call('SCARD', KEYS[1])
local to, sum = tonumber(state[1] or '0'), tonumber(state[2] or '0')
if now >= to then
  local last, from, after = to, b1, b3
  to = b2
  if now < b1 then from, to, after = b0, b1, b2 elseif now >= b2 then from, to, after = b2, b3, b4 end
  if last > from then to = after end
  used, sum = 0, 0
end
local room = math.min(limit - used, cap > 0 and math.ceil((cap - sum) / each) or limit)
return { 'open', sum, used, math.max(room, 0), to }
