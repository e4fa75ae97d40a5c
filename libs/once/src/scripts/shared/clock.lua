-- Redis' clock, read at most once for all calls of a group.
local clock
local function redis_time()
  clock = clock or redis.call('TIME')
  return clock
end
