-- Returns names and last read ids of the groups other than `own` that must settle an entry before it is deleted. `groups` is a
-- reply of XINFO GROUPS; `needs` is names separated by spaces. Returns nil if nothing may be deleted: a name of `needs` is
-- missing, or `needs` is '*'.
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

-- Returns an id with both parts at full width, to be compared as text: they have 64 bits, and numbers in Lua are exact up to 2^53.
local function pad_id(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function comes_after(id, other)
  return pad_id(id) > pad_id(other)
end
