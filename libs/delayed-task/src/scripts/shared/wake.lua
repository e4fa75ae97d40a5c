-- The key `waits` has the time until which every worker that sleeps will look again, ms. Without it, nobody knows that time.
-- How long it is kept, ms. A worker that sleeps does not depend on it.
local WAITS_MS = 60000

-- Returns true if workers may sleep beyond `due`, so that they must be woken. `mark` is the value of `waits`, or false.
local function must_wake(mark, due)
  local latest = tonumber(mark or '')
  return not latest or due < latest
end

-- Returns true if this Redis user may not wake the workers: the task would run late. Servers without SPUBLISH raise an error. Their
-- workers look periodically.
local function is_mute(channel)
  local known, allowed = pcall(redis.acl_check_cmd, 'SPUBLISH', channel, 'due')
  return known and not allowed
end
local MUTE = 'NOTALLOWED the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed'
