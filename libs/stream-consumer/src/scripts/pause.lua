--[[
pause: pause or resume a group of a stream, or read whether it is paused.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config; `paused:<group>` is 1 while the group is paused, and 0 after that: a
                       field that is missing was lost. Also the name of the sharded channel
ARGV[1]  group   str
ARGV[2]  action  str   'pause' | 'resume' | 'read' | 'keep', which reads, and writes a pause that Redis has lost

Returns {paused}
  paused  1 | 0

O(1). TTL: none, a group stays paused until somebody resumes it. Clock: not read. Replay: the same.
]]
local field, action = 'paused:' .. ARGV[1], ARGV[2]
local paused = redis.call('HGET', KEYS[1], field)
if action == 'keep' and not paused then action = 'pause' end
if action == 'pause' or action == 'resume' then
  -- Consumers would not learn of it. Servers without SPUBLISH raise an error. Their consumers look periodically.
  local known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', KEYS[1], 'changed')
  if known and not allowed then
    local needs = 'permission for SPUBLISH and for the channels of this lib'
    return redis.error_reply('NOTALLOWED the Redis user needs ' .. needs .. '; nothing was changed')
  end
  paused = action == 'pause' and '1' or '0'
  redis.call('HSET', KEYS[1], field, paused)
  redis.pcall('SPUBLISH', KEYS[1], 'changed')
end
return { paused == '1' and 1 or 0 }
