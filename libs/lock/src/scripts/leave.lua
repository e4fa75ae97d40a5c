--[[
leave: remove the ticket of a process from the queue of a lock, and wake the processes that still wait.

KEYS[1]  lock    string  <prefix>:lock:{<name>}:lock; waiting processes listen to a channel of the same name
KEYS[2]  queue   hash    <prefix>:lock:{<name>}:queue
ARGV[1]  ticket  str     ticket of the process that no longer waits

Returns {left}
  left  1 | 0  0 if the ticket was not in the queue

O(1). TTL: untouched. Clock: none. Replay: changes nothing; returns 0.
]]
-- @include record
local raw = redis.call('GET', KEYS[1])
if raw and not parse_lock(raw) then return bad_lock() end
if redis.call('HDEL', KEYS[2], ARGV[1]) == 0 then return { 0 } end
if redis.call('HLEN', KEYS[2]) > 0 then
  redis.call('SPUBLISH', KEYS[1], 'left')
elseif raw then
  redis.call('SETRANGE', KEYS[1], '13', '0')
end
return { 1 }
