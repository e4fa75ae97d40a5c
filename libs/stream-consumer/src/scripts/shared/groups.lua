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

local function comes_after(id, other)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)-(%d+)$')
  if tonumber(ms) ~= tonumber(other_ms) then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(seq) > tonumber(other_seq)
end
