-- @include limits
-- Takes further due tasks of groups whose next task (the head) was taken: at most `left` tasks, in equal shares. Then makes the next task
-- of each group its head. `turns`: groups, each followed by the id of a task that was taken; a group counts only if this task was its head.
-- `take_ids` takes tasks from the first on, given their ids and due times, and returns how many it took. `limits`: see limits.lua.
local function take_in_turns(due, lines, heads, limits, turns, left, take_ids)
  local groups = {}
  for i = 1, #turns, 2 do
    if redis.call('HGET', heads, turns[i]) == turns[i + 1] then groups[#groups + 1] = turns[i] end
  end
  for round = #groups, 1, -1 do
    local share = left > 0 and math.min(math.ceil(left / round), starts_left(limits, groups[round])) or 0
    local ids, dues, gone = {}, {}, {}
    for _, member in ipairs(share > 0 and line_of(lines, groups[round], share) or {}) do
      local ms, id = parse_member(member)
      if ms > now_ms then break end
      -- If the cleanup has repaired a task, `lines` may still list the task although it no longer waits there.
      if tonumber(redis.call('ZSCORE', due, id) or 0) == IN_LINE + ms then
        ids[#ids + 1], dues[#dues + 1] = id, string.format('%.0f', ms)
      else
        gone[#gone + 1] = member
      end
    end
    local count = #ids > 0 and take_ids(ids, dues) or 0
    for i = 1, count do gone[#gone + 1] = line_member(groups[round], dues[i], ids[i]) end
    if count > 0 then redis.call('ZREM', due, unpack(ids, 1, count)) end
    if #gone > 0 then redis.call('ZREM', lines, unpack(gone)) end
    left = left - count
    advance(due, lines, heads, groups[round], now_ms)
  end
end
