--[[
get: read a task.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  result  string  <prefix>:delayed-task:{<partition>}:result:<id>
KEYS[7]  progress  string  <prefix>:delayed-task:{<partition>}:progress:<id>
ARGV[1]  id      str

Returns {atMs, state, record, run, result, progress}
  atMs    int  ms when a waiting task is due, when the lease of a running task ends, or when the task was dead-lettered; 0 in other
               states, and for a task that Redis has partly lost
  state   'waiting' | 'running' | 'dead' | 'done': only the result is left | '': there is no such task
  record  str  value in `tasks`; '' if there is no task
  run     str  value in `runs`; '' if no worker has taken the task yet
  result  str  '<token> <ms> <JSON>'; '' unless the state is 'done'
  progress  str  '<token> <JSON>', perhaps of an earlier attempt or task; '' if there is none

O(log n). TTL: untouched. Clock: none. Replay: reads again.
]]
-- @include in-line
local record, run = redis.call('HGET', KEYS[3], ARGV[1]), redis.call('HGET', KEYS[4], ARGV[1]) or ''
local progress = redis.call('GET', KEYS[7]) or ''
if not record then
  local result = redis.call('GET', KEYS[6])
  return { 0, result and 'done' or '', '', '', result or '', progress }
end
local due, lease = redis.call('ZSCORE', KEYS[1], ARGV[1]), redis.call('ZSCORE', KEYS[2], ARGV[1])
local dead = redis.call('ZSCORE', KEYS[5], ARGV[1])
if due and tonumber(due) >= IN_LINE then due = due - IN_LINE end
-- A lease that ends at 0 means that an attempt has ended, and that another task follows under the same id (see next.lua).
if lease == '0' then return { tonumber(string.match(record, '%d+$') or 0), 'waiting', record, '', '', '' } end
local state = due and 'waiting' or lease and 'running' or dead and 'dead' or 'waiting'
return { tonumber(due or lease or dead or 0), state, record, run, '', progress }
