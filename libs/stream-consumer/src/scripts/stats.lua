--[[
stats: count the entries of a group.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  due       zset    ...:due:<group>
KEYS[4]  dead      stream  ...:dead:<group>
KEYS[5]  unsettled set     ...:unsettled:<group>
ARGV[1]  group     str

Returns {length, pending, lag, oldestMs, due, parked, dead, sessions}
  length    int  number of entries in the stream
  pending   int  number of entries that the group has read, but not finished (acknowledged or dead-lettered)
  lag       int  number of entries that the group has not read; an estimate if such entries were deleted and at least 100 are left
  oldestMs  int  age of the oldest unfinished entry; -1 if there is none
  due       int  number of pending entries that no process holds: they wait for a retry or for a free process
  parked    int  number of pending entries that wait for an earlier entry of their key
  dead      int  number of dead letters of the group
  sessions  int  number of leases that have not ended

O(log entries + groups + consumers). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include errors
-- @include ids
-- @include consumers
local length, dead = redis.call('XLEN', KEYS[1]), redis.call('XLEN', KEYS[4])
local due, parked, unsettled = redis.call('ZCARD', KEYS[3]), 0, redis.call('SCARD', KEYS[5])
local sessions = redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', now_ms), '+inf')
local read, lag = '0-0', length
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
for _, row in ipairs(failed(groups) and {} or groups) do
  local group = {}
  for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
  if group['name'] == ARGV[1] then
    read, lag = group['last-delivered-id'], group['lag']
  end
end
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1])
local pending, oldest = 0, false
if not failed(held) and held[1] > 0 then
  pending, oldest = held[1], held[2]
  for _, row in ipairs(held[4]) do
    if parked_key(row[1]) then parked = parked + row[2] end
  end
end
local unread = redis.call('XRANGE', KEYS[1], '(' .. read, '+', 'COUNT', 1)[1]
if unread and not (oldest and comes_after(unread[1], oldest)) then oldest = unread[1] end
-- Redis reports no lag if an unread entry was deleted. Its lag may also count trimmed entries, so the lag is 0 here if nothing is unread,
-- and at most the length of the stream.
if not unread then
  lag = 0
elseif not lag then
  local counted = #redis.call('XRANGE', KEYS[1], '(' .. read, '+', 'COUNT', 100)
  lag = counted < 100 and counted or math.max(counted, length - pending)
end
local age = oldest and math.max(0, now_ms - tonumber(string.match(oldest, '^%d+'))) or -1
-- An entry that another client has removed from the list of pending entries is still unfinished.
pending = math.max(pending, unsettled)
return { length, pending, math.min(lag, length), age, due, parked, dead, sessions }
