--[[
acknowledge: remove tasks that are done and still leased to the worker. If `schedule` has stored a task
that follows under the same id, only the attempt ends, and that task stays.

KEYS[1]    leased  zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[2]    tasks   hash  <prefix>:delayed-task:{<partition>}:tasks
KEYS[3]    runs    hash  <prefix>:delayed-task:{<partition>}:runs
KEYS[4]    waits   channel  <prefix>:delayed-task:{<partition>}:waits
ARGV[1..]  pairs   list(str)  id of a task, token of its lease; 1 to 300 of them

Returns {done, at, ...}
  done  int  number of tasks that were done
  at    int  place in `pairs`, from 0, of a task that was not removed, because it is no longer leased to the worker

O(n log m). TTL: none. Clock: none. Replay: changes nothing; lists the tasks that the first call removed as not
removed.
]]
-- @include writes
-- @include next
local ids, done, ended, reply = {}, {}, {}, { 0 }
for i = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local runs = redis.call('HMGET', KEYS[3], unpack(ids))
for i, id in ipairs(ids) do
  -- The end of the lease does not matter here: a task that is done must not run again because its acknowledgement came late.
  if runs[i] and string.find(runs[i], ' l ' .. ARGV[2 * i] .. ' ', 1, true) then
    done[#done + 1] = id
  elseif runs[i] and has_next(runs[i], ARGV[2 * i]) then
    ended[#ended + 1] = i
  else
    reply[#reply + 1] = i - 1
  end
end
if #done + #ended == 0 then return reply end
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
redis.call('HLEN', KEYS[2])
for _, i in ipairs(ended) do
  redis.call('ZADD', KEYS[1], '0', ids[i])
  redis.call('HSET', KEYS[3], ids[i], end_before_next(runs[i]))
  redis.pcall('SPUBLISH', KEYS[4], 'due')
end
reply[1] = #done + #ended
if #done == 0 then return reply end
redis.call('ZREM', KEYS[1], unpack(done))
redis.call('HDEL', KEYS[2], unpack(done))
redis.call('HDEL', KEYS[3], unpack(done))
return reply
