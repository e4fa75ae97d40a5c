-- The groups beside one's own, of what XINFO GROUPS answered: their names, and how far they have read.
local function others_of(groups, own)
  local others = {}
  for _, row in ipairs(groups) do
    local group = {}
    for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
    if group['name'] ~= own then others[#others + 1] = { name = group['name'], read = group['last-delivered-id'] } end
  end
  return others
end

-- An entry's id with both parts at full width. They have 64 bits, and a number of Lua's is exact up to 2^53 only.
local function padded(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function comes_after(id, other)
  return padded(id) > padded(other)
end
