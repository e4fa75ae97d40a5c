--[[
look: read the state of a partition for an operator: numbers of tasks, number of workers, and limits that delay tasks.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  dead    zset  <prefix>:delayed-task:{<partition>}:dead
KEYS[4]  waits   string  <prefix>:delayed-task:{<partition>}:waits   workers listen to a channel of the same name
KEYS[5]  starts  string(int)  <prefix>:delayed-task:{<partition>}:starts   number of tasks that have started in the window of the rate limit
KEYS[6]  pauses  hash  <prefix>:delayed-task:{<partition>}:pauses   paused groups
ARGV[1]  most      int  maximum number of tasks that may start in a window; 0: any number
ARGV[2]  windowMs  int  length of the window, ms; 0 without a limit

Returns {waiting, overdue, running, dead, lateMs, ended, listeners, startsLeft, windowLeftMs, groups, ...}
  waiting       int  this and the next four are those of the script `stats`
  overdue       int
  running       int
  dead          int
  lateMs        int
  ended         int  leased tasks whose lease has ended
  listeners     int  number of processes whose workers listen; -1 if the Redis user may not ask
  startsLeft    int  number of tasks that may still start in this window; -1 for any number
  windowLeftMs  int  ms until the window ends; 0 without a limit
  groups        str  names of up to 100 paused groups

O(log n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include counts
-- @include starts
-- @include listeners
local waiting, overdue, running, dead, late_ms = count_tasks(KEYS[1], KEYS[2], KEYS[3])
local ended = redis.call('ZCOUNT', KEYS[2], '(0', now_ms)
local left, _, window_ms = starts_of(KEYS[5], tonumber(ARGV[1]), tonumber(ARGV[2]))
local reply = {
  waiting, overdue, running, dead, late_ms, ended, count_listeners(KEYS[4]), left == math.huge and -1 or left, window_ms,
}
for _, group in ipairs(redis.call('HRANDFIELD', KEYS[6], 100)) do reply[#reply + 1] = group end
return reply
