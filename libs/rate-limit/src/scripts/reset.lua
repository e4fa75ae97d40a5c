--[[
reset: delete the counter of a subject (the counted client or user) under a rule, its block, and the memory of earlier
blocks.

KEYS[1]  state    string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty  string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>

Returns {deleted}
  deleted  0..2  number of deleted keys

O(1), sliding-log O(hits). TTL: none. Clock: none. Replay: also deletes hits that were counted since the first call.
]]
return { redis.call('DEL', KEYS[1], KEYS[2]) }
