--[[
reset: delete the counter of a subject (the counted client or user) under a rule, and its block with the memory of earlier
blocks.

KEYS[1]  state     string | zset  <prefix>:rate-limit:{<tag>}:<algorithm>:<rule>:<window ms>:<subject>
KEYS[2]  penalty   string         <prefix>:rate-limit:{<tag>}:penalty:<rule>:<subject>
ARGV[1]  windowMs  int >= 0       window of fixed-window, ms; 0 for other algorithms

Returns deleted
  deleted  0..2  number of deleted keys

A deleted counter of fixed-window is replaced by 2^51, which marks a window after a reset (see fixed-window.lua).
O(1), sliding-log O(hits). TTL: windowMs for that mark. Clock: Redis. Replay: also deletes hits that were counted since the first
call.
]]
if redis.call('MGET', KEYS[1])[1] == '2251799813685248' then return redis.call('DEL', KEYS[2]) end
local counted = redis.call('DEL', KEYS[1])
if counted == 1 and ARGV[1] ~= '0' then redis.call('SET', KEYS[1], '2251799813685248', 'PX', ARGV[1]) end
return counted + redis.call('DEL', KEYS[2])
