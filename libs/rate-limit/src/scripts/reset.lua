--[[
reset: forget what a rule counts of a subject, its penalty and its strikes.

KEYS[1]  state    string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty  string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>

Returns {deleted}
  deleted  0..2  keys that were there

O(1), sliding-log O(hits). TTL: none left. Clock: none. Replay: harmless, deletes what was counted in between.
]]
return { redis.call('DEL', KEYS[1], KEYS[2]) }
