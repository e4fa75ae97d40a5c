--[[
list-consumers: read which processes hold entries of a partition, and how many processes listen for new ones.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  woken     string  ...:woken; the consumers of all groups listen to a channel of the same name
ARGV[1]  group     str
ARGV[2]  count     int 1..500

Returns {listeners, now, rows}
  listeners  int  number of processes that listen; -1 if the Redis user may not ask
  now        int  ms since 1970
  rows       str  for each holder its name, when its lease ends (ms; 0 if its entries are being taken over), and the number of its entries

O(count + consumers). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include errors
-- @include listeners
local pending, held = {}, redis.pcall('XPENDING', KEYS[1], ARGV[1])
for _, row in ipairs(not failed(held) and held[4] or {}) do pending[row[1]] = row[2] end
local sessions = redis.call('ZREVRANGE', KEYS[2], 0, ARGV[2] - 1, 'WITHSCORES')
local reply = { count_listeners(KEYS[3]), now_ms }
for i = 1, #sessions, 2 do
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3] = sessions[i], sessions[i + 1], pending[sessions[i]] or '0'
end
return reply
