--[[
list-consumers: read who has entries of a partition, and how many processes listen.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  woken     string  ...:woken; its name is that of the channel of the consumers of all groups
ARGV[1]  group     str
ARGV[2]  count     int 1..500

Returns {listeners, now, rows}
  listeners  int  processes that listen; -1 if the user may not ask
  now        int  ms since 1970
  rows       str  name of each session, when its lease ends (ms, 0 if it is being taken over), its pending entries

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
