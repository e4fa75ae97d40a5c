-- Pads both parts of an id to 20 digits, so that ids can be compared as text. Lua's numbers are exact only up to 2^53, and the parts have
-- 64 bits.
local function pad_id(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function comes_after(id, other)
  return pad_id(id) > pad_id(other)
end
