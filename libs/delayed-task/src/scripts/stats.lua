--[[
stats: count the tasks of a partition.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  dead    zset  <prefix>:delayed-task:{<partition>}:dead

Returns {waiting, overdue, running, dead, lateMs}
  waiting  int  tasks that are not leased, the overdue ones included
  overdue  int  due and not yet taken
  running  int
  dead     int
  lateMs   int  time since the first overdue task was due

O(log n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {
  redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', now_ms), redis.call('ZCARD', KEYS[2]),
  redis.call('ZCARD', KEYS[3]), math.max(0, now_ms - (tonumber(head[2]) or now_ms)),
}
