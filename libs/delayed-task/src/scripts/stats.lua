--[[
stats: count the tasks of a partition.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  dead    zset  <prefix>:delayed-task:{<partition>}:dead

Returns {waiting, overdue, running, dead, lateMs}
  waiting  int  tasks in `due`, including overdue tasks; and those whose turn comes because an attempt has ended, see `next`
  overdue  int  waiting tasks that are due and not taken yet
  running  int  leased tasks, also if the lease has ended
  dead     int  dead letters
  lateMs   int  time since the first overdue task was due, ms; 0 if no task is overdue

O(log n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include in-line
local behind = string.format('%.0f', IN_LINE)
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local first = tonumber(head[2]) or now_ms
local in_line = redis.call('ZRANGEBYSCORE', KEYS[1], behind, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local overdue = redis.call('ZCOUNT', KEYS[1], '-inf', now_ms)
if in_line then
  first = math.min(first, in_line - IN_LINE)
  overdue = overdue + redis.call('ZCOUNT', KEYS[1], behind, string.format('%.0f', IN_LINE + now_ms))
end
-- These have the lease of the attempt that has ended, at 0.
local nexts = redis.call('ZCOUNT', KEYS[2], 0, 0)
return {
  redis.call('ZCARD', KEYS[1]) + nexts, overdue, redis.call('ZCARD', KEYS[2]) - nexts,
  redis.call('ZCARD', KEYS[3]), math.max(0, now_ms - first),
}
