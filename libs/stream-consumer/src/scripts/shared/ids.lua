-- Returns an id with both parts padded to 20 digits, to be compared as text. The parts have 64 bits, but Lua's numbers are
-- exact only up to 2^53.
local function pad_id(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function comes_after(id, other)
  return pad_id(id) > pad_id(other)
end
