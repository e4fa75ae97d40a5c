-- TTL of the key `waits`, ms. Its value is the time, in ms, at which the sleeping workers look for tasks again at the latest. Without the
-- key, that time is unknown, so workers are woken for each task.
local WAITS_MS = 60000

-- Returns true if workers must be woken for a task, because they may sleep beyond `due`. `mark` is the value of the key `waits`, or false.
local function must_wake(mark, due)
  local latest = tonumber(mark or '')
  return not latest or due < latest
end

-- Returns true if the Redis user lacks the permission to wake the workers, so that a task would run late. On a server without SPUBLISH,
-- returns false: workers look for tasks periodically there.
local function is_mute(channel)
  local known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', channel, 'due')
  return known and not allowed
end
local MUTE = 'NOTALLOWED the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed'
