-- @include clock
-- @include in-line
-- Tasks of a group take turns. One of them, the head of the group, waits in `due` like tasks without a group, and `heads` has its id. The
-- others are in line: in `due` behind all times, at IN_LINE + the ms when they are due, and in `lines`, sorted by group, time and id.
-- `due`, `lines` and `heads` are keys. Of a head that is held, see limits.lua, `heads` also has its time in `due`, under '<group>\n'.
-- Returns the group of a task; nil without one. It follows `keepResultMs` in the record, after an '@'.
local function group_of(record)
  return string.match(record, '^%d+\n%d+@([^\n]*)\n')
end

local function line_member(group, ms, id)
  return group .. string.format('\n%015.0f\n', ms) .. id
end

-- Returns up to `limit` tasks that are in line, the first ones of the group, as members of `lines`.
local function line_of(lines, group, limit)
  return redis.call('ZRANGEBYLEX', lines, '[' .. group .. '\n', '(' .. group .. '\11', 'LIMIT', 0, limit)
end

-- Returns the due time and the id of a member of `lines`.
local function parse_member(member)
  local ms, id = string.match(member, '^[^\n]*\n(%d+)\n(.*)$')
  return tonumber(ms), id
end

-- Returns true if a head with this time is held. A held head stays the head.
local function is_held(heads, group, head_ms)
  return tonumber(redis.call('HGET', heads, group .. '\n') or 0) == head_ms
end

-- Makes the first task in line the head, due at `from` or later. A group without one has no head.
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

-- Adds a task of a group, as its head or in line. A task that is due earlier than a head that is not due yet becomes the head. A head
-- whose turn it is has the time of that, so it stays, however old the task is.
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

-- Adds tasks that were never taken: id and record of each.
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

-- Removes a waiting task of a group from `due` and from its line. Of a head, the next task in line takes the place.
local function leave(due, lines, heads, group, id, from)
  local score = tonumber(redis.call('ZSCORE', due, id) or 0)
  redis.call('ZREM', due, id)
  if score >= IN_LINE then
    redis.call('ZREM', lines, line_member(group, score - IN_LINE, id))
  elseif redis.call('HGET', heads, group) == id then
    advance(due, lines, heads, group, from)
  end
end
