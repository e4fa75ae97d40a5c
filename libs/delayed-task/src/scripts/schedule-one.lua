--[[
schedule-one: add one task to a partition, unless the id exists. Wakes the workers if the task is due before the time until which
they sleep. If the id exists, the caller must use `schedule`.

KEYS[1]  due        zset    <prefix>:delayed-task:{<partition>}:due      id -> ms when it is due
KEYS[2]  tasks      hash    <prefix>:delayed-task:{<partition>}:tasks    id -> record: name, settings, payload and due time as one text
KEYS[3]  runs       hash    <prefix>:delayed-task:{<partition>}:runs     id -> data of its attempts
KEYS[4]  waits      string  <prefix>:delayed-task:{<partition>}:waits    latest time at which workers wake up, ms; also their channel
KEYS[5]  operation  string  <prefix>:delayed-task:{<partition>}:operation:<token>   the reply of this call
ARGV[1]  id           str
ARGV[2]  when         str   'd<ms>' for a delay or 'a<ms>' for a time since 1970
ARGV[3]  record       str   name, settings and payload as one text
ARGV[4]  operationMs  int   how long the reply is stored, so that a replay can return it, ms

Returns runAtMs
  runAtMs  int  when the task is due, ms; -1 if the id has a task or a run, and nothing was changed

O(log m). TTL: none for the task; operationMs for the stored reply. Clock: Redis. Replay: while the stored reply is kept, schedules
nothing, and returns the first reply.
]]
-- @include clock
local first = redis.call('GET', KEYS[5])
if first then return tonumber(first) or -1 end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) + redis.call('HEXISTS', KEYS[3], ARGV[1]) > 0 then return -1 end
local mark = redis.call('GET', KEYS[4])
local kind, due = string.match(ARGV[2], '^([da])(%d+)$')
if not kind then return redis.error_reply('BADTASK the due time in ARGV[2] is neither "d<ms>" nor "a<ms>"; nothing was scheduled') end
due = kind == 'd' and now_ms + due or tonumber(due)
-- A faster copy of `must_wake` and `is_mute` of shared/wake.lua.
local latest = tonumber(mark or '')
local wakes = not latest or due < latest
local known, allowed = true, true
if wakes then known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', KEYS[4], 'due') end
if known and not allowed then
  return redis.error_reply('NOTALLOWED the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed')
end
-- Redis does not roll back, so the permissions for the later writes are checked here. If Redis refuses the first write, ZADD, nothing was
-- changed.
if not redis.acl_check_cmd('HSET', KEYS[2], 'f', 'v') or not redis.acl_check_cmd('SET', KEYS[5], 'v') then
  return redis.error_reply('NOTALLOWED the Redis user needs permission for ZADD, HSET and SET; nothing was changed')
end
local text = string.format('%.0f', due)
redis.call('ZADD', KEYS[1], text, ARGV[1])
-- The stored text ends with the due time, so that the cleanup can repair a task whose entry in `due` is lost.
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3] .. '\n' .. text)
redis.call('SET', KEYS[5], text, 'PX', ARGV[4])
if wakes then
  redis.call('SET', KEYS[4], text, 'PX', 60000)
  redis.pcall('SPUBLISH', KEYS[4], 'due')
end
return due
