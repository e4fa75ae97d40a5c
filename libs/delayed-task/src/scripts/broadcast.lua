--[[
broadcast: publish events of tasks to the processes that listen to the events of a queue.

KEYS[1]  events  name of the sharded channel  <prefix>:delayed-task:{<queue>}:events; there is no such key
ARGV[1..]  messages  list(str)  JSON; without messages, only the permission is checked

Returns {listeners}
  listeners  int  number of connections that got the last message; 0 without messages

O(messages + listeners). TTL: nothing is stored. Clock: none. Replay: publishes the messages again; listeners ignore those that they have.
]]
local known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', KEYS[1], '')
if not known or not allowed then
  return redis.error_reply('NOTALLOWED the server needs SPUBLISH, and the Redis user permission for it and for the channels of this lib')
end
local listeners = 0
for i = 1, #ARGV do listeners = redis.call('SPUBLISH', KEYS[1], ARGV[i]) end
return { listeners }
