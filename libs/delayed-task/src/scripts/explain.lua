--[[
explain: read what a waiting task waits for, or which worker runs it.

KEYS[1]  due     zset  <prefix>:delayed-task:{<partition>}:due
KEYS[2]  heads   hash  <prefix>:delayed-task:{<partition>}:heads
KEYS[3]  tasks   hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  lines   zset  <prefix>:delayed-task:{<partition>}:lines
KEYS[5]  pauses  hash  <prefix>:delayed-task:{<partition>}:pauses   paused groups
KEYS[6]  places  zset  <prefix>:delayed-task:{<partition>}:places   '<group>\n<id>' of the running tasks of groups
KEYS[7]  rates   zset  <prefix>:delayed-task:{<partition>}:rates    group -> ms when its rate is fully available again
KEYS[8]  runs    hash  <prefix>:delayed-task:{<partition>}:runs
ARGV[1]  id      str

Returns {now, ahead, groupPaused, groupRunning, groupSpentMs, groupHeldMs, token}
  now           int  Redis' time, ms
  ahead         int  number of tasks before this task: in its group if it waits for other tasks of the group, else in its partition
  groupPaused   int  1 if its group is paused | 0
  groupRunning  int  number of running tasks of its group, if the queue limits them
  groupSpentMs  int  ms when the rate of its group is fully available again; 0 if it is available now
  groupHeldMs   int  ms at which workers look at its group again; 0 if no limit holds the group up
  token         str  token of its last lease; '' if no worker has taken it yet

O(log n). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include lines
local record = redis.call('HGET', KEYS[3], ARGV[1])
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1)
local token = string.match(redis.call('HGET', KEYS[8], ARGV[1]) or '', '^%S+ %S+ (%S+)') or ''
local group, ahead = record and group_of(record), 0
if score >= IN_LINE and group then
  ahead = 1 + redis.call('ZLEXCOUNT', KEYS[4], '[' .. group .. '\n', '(' .. line_member(group, score - IN_LINE, ARGV[1]))
elseif score >= 0 then
  ahead = redis.call('ZRANK', KEYS[1], ARGV[1])
end
if not group then return { now_ms, ahead, 0, 0, 0, 0, token } end
local spent = tonumber(redis.call('ZSCORE', KEYS[7], group) or 0)
local held = tonumber(redis.call('HGET', KEYS[2], group .. '\n') or 0)
return {
  now_ms, ahead, redis.call('HEXISTS', KEYS[5], group),
  redis.call('ZLEXCOUNT', KEYS[6], '[' .. group .. '\n', '(' .. group .. '\11'),
  spent > now_ms and math.ceil(spent) or 0, held > now_ms and held or 0, token,
}
