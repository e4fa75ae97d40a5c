--[[
block: refuse a subject under a rule for `blockMs` and delete its counter.

KEYS[1]  state     string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty   string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>, <until ms>:<strikes>
ARGV[1]  blockMs   int >= 1, ms
ARGV[2]  memoryMs  int >= 0, ms that earlier strikes are remembered after the block

Returns {strikes}
  strikes  int >= 0  earlier penalties that still make further ones longer

O(1), sliding-log O(hits). TTL: blockMs, and memoryMs more for the penalty. Clock: Redis.
Replay: the block starts again.
]]
-- @include clock
local penalty = redis.call('MGET', KEYS[2])[1]
local strikes = penalty and string.match(penalty, '^%d+:(%d+)$') or '0'
local until_ms = now_ms + ARGV[1]
-- Not an integer, so `consume-fixed-window` and `consume-fixed-windows`, which do not read penalties, fail on it.
redis.call('SET', KEYS[1], 'blocked', 'PXAT', until_ms)
redis.call('SET', KEYS[2], string.format('%.0f:%s', until_ms, strikes), 'PXAT', until_ms + ARGV[2])
return { tonumber(strikes) }
