-- Returns the groups that must settle an entry before it is deleted, without the group `own`: name and last read id of each.
-- `groups` is a reply of XINFO GROUPS. `needs` has the names of the stream's groups, separated by spaces. Returns nil if no
-- entry may be deleted, because one of these groups does not exist on this partition, or `needs` is '*'.
local function find_settlers(groups, own, needs)
  if needs == '*' then return nil end
  local others, there = {}, {}
  for _, row in ipairs(groups) do
    local group = {}
    for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
    there[group['name']] = true
    if group['name'] ~= own then others[#others + 1] = { name = group['name'], read = group['last-delivered-id'] } end
  end
  for name in string.gmatch(needs, '%S+') do
    if not there[name] then return nil end
  end
  return others
end

-- Returns an id with both parts padded to 20 digits, to be compared as text. The parts have 64 bits, but Lua's numbers are
-- exact only up to 2^53.
local function pad_id(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function comes_after(id, other)
  return pad_id(id) > pad_id(other)
end
