--[[
stats: count the tasks of a partition.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  dead    zset  <prefix>:delayed-task:{<partition>}:dead

Returns {waiting, overdue, running, dead, lateMs}
  waiting  int  number of tasks that wait for an attempt, including overdue tasks
  overdue  int  number of waiting tasks that are due already
  running  int  number of leased tasks, also if the lease has ended
  dead     int  number of dead letters
  lateMs   int  time since the first overdue task was due, ms; 0 if no task is overdue

O(log n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include counts
return { count_tasks(KEYS[1], KEYS[2], KEYS[3]) }
