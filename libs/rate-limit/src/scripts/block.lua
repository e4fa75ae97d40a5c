--[[
block: refuse a subject under a rule for `blockMs`, whatever it has used; what it has used is forgotten.

KEYS[1]  state     string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty   string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>, <until ms>:<strikes>
ARGV[1]  blockMs   int >= 1, ms
ARGV[2]  memoryMs  int >= 0, ms that earlier strikes are remembered after the block

Returns {strikes}
  strikes  int >= 0  penalties that are remembered

O(1), sliding-log O(hits). TTL: blockMs, and memoryMs more for the penalty. Clock: Redis.
Replay: the block then counts from the replay.
]]
-- @include clock
local penalty = redis.call('MGET', KEYS[2])[1]
local strikes = penalty and string.match(penalty, '^%d+:(%d+)$') or '0'
local until_ms = now_ms + ARGV[1]
-- No integer: so `consume-fixed-window`, which does not look at penalties, cannot pass it.
redis.call('SET', KEYS[1], 'blocked', 'PXAT', until_ms)
redis.call('SET', KEYS[2], string.format('%.0f:%s', until_ms, strikes), 'PXAT', until_ms + ARGV[2])
return { tonumber(strikes) }
