-- Returns which of these entries some of these groups have not settled, as a set of ids. The groups have read all of them. An entry
-- that somebody has taken out of a group's list of pending entries is still unsettled.
local function find_needed(entries, groups)
  local needed, ids = {}, {}
  for i, entry in ipairs(entries) do ids[i] = entry[1] end
  if not ids[1] then return needed end
  for _, group in ipairs(groups) do
    local rows = redis.call('XPENDING', KEYS[1], group.name, ids[1], ids[#ids], #ids + 1)
    for _, row in ipairs(rows) do needed[row[1]] = true end
    -- Entries that were deleted from the stream are in the list too, so the list may have more rows than these.
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
