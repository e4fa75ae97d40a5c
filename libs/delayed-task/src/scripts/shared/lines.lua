-- @include clock
-- @include in-line
-- The tasks of a group wait in a line. Its first task, the head, is in the sorted set `due` at its time, and the hash `heads` has its id.
-- Each other task is in `due` at IN_LINE plus its due time, behind all heads. It is also in `lines`, sorted by group, time and id. If a
-- limit holds the group up (see limits.lua), `heads` also has the time of the head in `due`, in the field '<group>\n'.

-- Returns the group of a task from its record, where it follows `keepResultMs` after an '@'; nil for a task without a group.
local function group_of(record)
  return string.match(record, '^%d+\n%d+@([^\n]*)\n')
end

local function line_member(group, ms, id)
  return group .. string.format('\n%015.0f\n', ms) .. id
end

-- Returns the first `limit` tasks behind the head of a group, as members of `lines`.
local function line_of(lines, group, limit)
  return redis.call('ZRANGEBYLEX', lines, '[' .. group .. '\n', '(' .. group .. '\11', 'LIMIT', 0, limit)
end

-- Returns the due time and the id of a member of `lines`.
local function parse_member(member)
  local ms, id = string.match(member, '^[^\n]*\n(%d+)\n(.*)$')
  return tonumber(ms), id
end

-- Returns true if a limit holds a group up. The head of the group (its next task) then stays the head, even if another task is due earlier.
local function is_held(heads, group, head_ms)
  return tonumber(redis.call('HGET', heads, group .. '\n') or 0) == head_ms
end

-- Makes the first task behind the head the new head of its group, due at `from` or later. If there is no such task, the group has no head.
local function advance(due, lines, heads, group, from)
  for _ = 1, 1000 do
    local member = line_of(lines, group, 1)[1]
    if not member then break end
    redis.call('ZREM', lines, member)
    local ms, id = parse_member(member)
    if tonumber(redis.call('ZSCORE', due, id) or 0) == IN_LINE + ms then
      redis.call('HSET', heads, group, id)
      redis.call('ZADD', due, string.format('%.0f', math.max(ms, from)), id)
      return
    end
  end
  redis.call('HDEL', heads, group, group .. '\n')
end

-- Adds a task of a group. It becomes the head if the group has none, or if it is due earlier than a head that is not due yet. A head that
-- is due stays the head.
local function place(due, lines, heads, group, ms, id)
  local head = redis.call('HGET', heads, group)
  local head_ms = head and tonumber(redis.call('ZSCORE', due, head) or IN_LINE) or IN_LINE
  if head_ms < IN_LINE and (ms >= head_ms or head_ms <= now_ms or is_held(heads, group, head_ms)) then
    redis.call('ZADD', lines, 0, line_member(group, ms, id))
    redis.call('ZADD', due, string.format('%.0f', IN_LINE + ms), id)
    return
  end
  if head_ms < IN_LINE then
    redis.call('ZADD', lines, 0, line_member(group, head_ms, head))
    redis.call('ZADD', due, string.format('%.0f', IN_LINE + head_ms), head)
  end
  redis.call('HSET', heads, group, id)
  redis.call('ZADD', due, string.format('%.0f', math.max(ms, now_ms)), id)
end

-- Adds tasks that no worker has taken yet. `tasks` has id and record of each.
local function place_new(due, lines, heads, tasks)
  for i = 1, #tasks, 2 do
    local id, group, ms = tasks[i], group_of(tasks[i + 1]), tonumber(string.match(tasks[i + 1], '%d+$')) or now_ms
    if group then
      place(due, lines, heads, group, ms, id)
    else
      redis.call('ZADD', due, string.format('%.0f', ms), id)
    end
  end
end

-- Removes a waiting task of a group. If it is the head, the task behind it becomes the head, due at `from` or later.
local function leave(due, lines, heads, group, id, from)
  local score = tonumber(redis.call('ZSCORE', due, id) or 0)
  redis.call('ZREM', due, id)
  if score >= IN_LINE then
    redis.call('ZREM', lines, line_member(group, score - IN_LINE, id))
  elseif redis.call('HGET', heads, group) == id then
    advance(due, lines, heads, group, from)
  end
end
