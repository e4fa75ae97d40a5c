-- Returns the ids of the entries that some group has not finished, as a set. The groups must have read all of these entries. An entry that
-- another client has removed from the list of pending entries still counts as unfinished.
local function find_needed(entries, groups)
  local needed, ids = {}, {}
  for i, entry in ipairs(entries) do ids[i] = entry[1] end
  if not ids[1] then return needed end
  for _, group in ipairs(groups) do
    local rows = redis.call('XPENDING', KEYS[1], group.name, ids[1], ids[#ids], #ids + 1)
    for _, row in ipairs(rows) do needed[row[1]] = true end
    -- The list of pending entries also has entries that were deleted from the stream. So the reply may be cut off before the last id. Then
    -- each entry is checked on its own.
    for i = 1, #rows > #ids and #ids or 0 do
      if #redis.call('XPENDING', KEYS[1], group.name, ids[i], ids[i], 1) > 0 then needed[ids[i]] = true end
    end
    local found = group.unsettled and redis.call('SMISMEMBER', group.unsettled, unpack(ids)) or {}
    for i, is_member in ipairs(found) do
      if is_member == 1 then needed[ids[i]] = true end
    end
  end
  return needed
end
