-- @include clock
-- @include in-line
-- Returns the numbers of waiting, overdue, running and dead-lettered tasks of a partition, and for how long the first overdue task has been
-- due, ms. `due`, `leased` and `dead` are keys.
local function count_tasks(due, leased, dead)
  local behind = string.format('%.0f', IN_LINE)
  local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  local first = tonumber(head[2]) or now_ms
  local in_line = redis.call('ZRANGEBYSCORE', due, behind, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  local overdue = redis.call('ZCOUNT', due, '-inf', now_ms)
  if in_line then
    first = math.min(first, in_line - IN_LINE)
    overdue = overdue + redis.call('ZCOUNT', due, behind, string.format('%.0f', IN_LINE + now_ms))
  end
  -- A lease that ends at 0 stands for a task that waits to follow an attempt which has ended (see next.lua). It counts as waiting.
  local nexts = redis.call('ZCOUNT', leased, 0, 0)
  return redis.call('ZCARD', due) + nexts, overdue, redis.call('ZCARD', leased) - nexts, redis.call('ZCARD', dead),
    math.max(0, now_ms - first)
end
