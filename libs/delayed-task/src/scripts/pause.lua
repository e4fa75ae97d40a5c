--[[
pause: pause or resume a queue, or read if it is paused.

KEYS[1]  paused  string  <prefix>:delayed-task:{<queue>}:paused   '1' while the queue is paused; also the workers' Pub/Sub channel
ARGV[1]  action  str     'pause' | 'resume' | 'read'

Returns paused
  paused  1 | 0

O(1). TTL: none, so that a queue stays paused until somebody resumes it. Clock: none. Replay: sets the same state again.
]]
-- @include wake
local paused = redis.call('GET', KEYS[1])
if ARGV[1] == 'read' then return paused and 1 or 0 end
if is_mute(KEYS[1]) then return redis.error_reply(MUTE) end
if ARGV[1] == 'pause' then redis.call('SET', KEYS[1], '1') else redis.call('DEL', KEYS[1]) end
redis.pcall('SPUBLISH', KEYS[1], ARGV[1])
return ARGV[1] == 'pause' and 1 or 0
