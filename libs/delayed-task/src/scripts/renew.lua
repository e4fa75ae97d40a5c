--[[
renew: extend the leases of a worker.

KEYS[1]    leased   zset  <prefix>:delayed-task:{<partition>}:leased
KEYS[2]    runs     hash  <prefix>:delayed-task:{<partition>}:runs
ARGV[1]    leaseMs  int        length of the lease from now, ms
ARGV[2..]  pairs    list(str)  id of a task, token of its lease; 1 to 300 of them

Returns {renewed, at, ...}
  renewed  int  number of tasks that are still leased to the worker
  at       int  place in `pairs`, from 0, of a lease that the worker has no more: its task does not exist, or is leased by another call.
                A worker may pass two leases of one id, if the task was replaced while it ran.

O(n log m). TTL: none. Clock: Redis. Replay: renews again.
]]
-- @include clock
local ids, leases, reply = {}, {}, { 0 }
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local runs = redis.call('HMGET', KEYS[2], unpack(ids))
for i, id in ipairs(ids) do
  local token = ARGV[2 * i + 1]
  if runs[i] and (string.find(runs[i], ' l ' .. token .. ' ', 1, true) or string.find(runs[i], ' a ' .. token .. ' ', 1, true)) then
    leases[#leases + 1], leases[#leases + 2] = now_ms + ARGV[1], id
  else
    reply[#reply + 1] = i - 1
  end
end
if #leases > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(leases)) end
reply[1] = #leases / 2
return reply
