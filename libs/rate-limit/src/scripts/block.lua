--[[
block: block a subject (the counted client or user) under a rule for `blockMs`, and delete its counter.

KEYS[1]  state     string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty   string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>; its value is
                                 <end of the block, ms>:<strikes>; strikes: number of earlier blocks that make the next one longer
ARGV[1]  blockMs   int >= 1, ms
ARGV[2]  memoryMs  int >= 0, how long the strikes are remembered after the block, ms

Returns strikes
  strikes  int >= 0  as stored; this block does not count as a strike

O(1), sliding-log O(hits). TTL: blockMs, and memoryMs more for the penalty. Clock: Redis.
Replay: the block lasts blockMs from the replay on.
]]
-- @include clock
local penalty = redis.call('MGET', KEYS[2])[1]
local strikes = penalty and string.match(penalty, '^%d+:(%d+)$') or '0'
local until_ms = now_ms + ARGV[1]
-- 2^52 marks a fixed window as blocked, for the scripts that do not read the penalty (see fixed-window.lua). Other algorithms ignore 2^52.
redis.call('SET', KEYS[1], '4503599627370496', 'PXAT', until_ms)
redis.call('SET', KEYS[2], string.format('%.0f:%s', until_ms, strikes), 'PXAT', until_ms + ARGV[2])
return tonumber(strikes)
