-- @include clock
-- @include in-line
-- Counts the tasks of a partition: those that wait, those of them that are due, those that run, the dead letters, and since when the
-- first task is due, ms; 0 if none is. `due`, `leased` and `dead` are keys.
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
  -- These have the lease of the attempt that has ended, at 0.
  local nexts = redis.call('ZCOUNT', leased, 0, 0)
  return redis.call('ZCARD', due) + nexts, overdue, redis.call('ZCARD', leased) - nexts, redis.call('ZCARD', dead),
    math.max(0, now_ms - first)
end
