--[[
progress: store the progress that the handler of a task reports.

KEYS[1]  runs      hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[2]  progress  string  <prefix>:delayed-task:{<partition>}:progress:<id>   '<token> <JSON>'
ARGV[1]  id      str
ARGV[2]  token   str  identifies the lease
ARGV[3]  keepMs  int >= 1  how long the progress is kept, ms
ARGV[4]  value   str       JSON

Returns stored
  stored  1 | 0   0: the task is no longer leased to the worker, so nothing was changed

O(1). TTL: keepMs for the progress. Clock: none. Replay: stores the value again.
]]
local run = redis.call('HGET', KEYS[1], ARGV[1])
if not run then return 0 end
if not string.find(run, ' l ' .. ARGV[2] .. ' ', 1, true) and not string.find(run, ' a ' .. ARGV[2] .. ' ', 1, true) then return 0 end
-- SET would overwrite a key of another type. With GET, it raises an error instead.
redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[3], 'GET')
return 1
