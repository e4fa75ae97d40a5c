--[[
write-history: add the counts of one process in one minute to the counts of all processes, and store when the process wrote last.

KEYS[1]  day        string  <prefix>:console:{history}:day:<day>   20 numbers of 32 bits for each minute; <day>: days since 1970
KEYS[2]  seen       zset    <prefix>:console:{history}:seen        processes, by the time of their last write, ms since 1970
KEYS[3]  processes  hash    <prefix>:console:{history}:processes   by process: token of its last write, line break, `about`
ARGV[1]  process    str     name of the process
ARGV[2]  token      str     of this write; if it is the token of the last write of the process, nothing is added
ARGV[3]  about      str     JSON about the process, such as its memory
ARGV[4]  ttlMs      int     how long the day is kept, ms
ARGV[5]  keep       int     maximum number of processes that are stored
ARGV[6..]  counts   list(str)  pairs: index of a number in the day, and what is added to that number; at most 100 pairs

Returns written
  written  1 | 0  0: Redis had this write already

O(counts + log keep). TTL: ttlMs. Clock: Redis. Replay: adds nothing.
]]
-- @include clock
local known = redis.call('HGET', KEYS[3], ARGV[1])
redis.call('ZCARD', KEYS[2])
redis.call('STRLEN', KEYS[1])
if known and string.match(known, '^[^\n]*') == ARGV[2] then return 0 end
for i = 6, #ARGV, 2 do
  redis.call('BITFIELD', KEYS[1], 'OVERFLOW', 'SAT', 'INCRBY', 'u32', '#' .. ARGV[i], ARGV[i + 1])
end
redis.call('ZADD', KEYS[2], now_ms, ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2] .. '\n' .. ARGV[3])
for _, process in ipairs(redis.call('ZRANGE', KEYS[2], 0, -ARGV[5] - 1)) do
  redis.call('HDEL', KEYS[3], process)
  redis.call('ZREM', KEYS[2], process)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1
