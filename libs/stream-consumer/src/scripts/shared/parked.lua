-- A parked entry in a set of equal scores: by its key, then by its id, with both parts at full width.
local function place_of(key, id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return key .. '\0' .. string.rep('0', 20 - #ms) .. ms .. '-' .. string.rep('0', 20 - #seq) .. seq
end

local function id_at(place)
  local ms, seq = string.match(string.sub(place, -41), '^0*(%d+)-0*(%d+)$')
  return ms .. '-' .. seq
end
