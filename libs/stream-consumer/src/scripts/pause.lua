--[[
pause: pause or resume a group of a stream, or read if it is paused.

KEYS[1]  config  hash  <prefix>:stream-consumer:{<stream>}:config; `paused:<group>` is 1 while the group is paused, and 0 after that. So if
                       the field is missing, Redis has lost it. Changes are published on a channel of the same name
ARGV[1]  group   str
ARGV[2]  action  str   'pause' | 'resume' | 'read' | 'keep': like 'read', but stores a pause again that Redis has lost

Returns {paused}
  paused  1 | 0

O(1). TTL: none, a group stays paused until somebody resumes it. Clock: not read. Replay: the same.
]]
local field, action = 'paused:' .. ARGV[1], ARGV[2]
local paused = redis.call('HGET', KEYS[1], field)
if action == 'keep' and not paused then action = 'pause' end
if action == 'pause' or action == 'resume' then
  -- Without permission to publish, the consumers would not notice the change. On a server without SPUBLISH, the check raises an error, and
  -- consumers read the pause periodically.
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
