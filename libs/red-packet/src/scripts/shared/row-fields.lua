-- Returns the fields of a stream entry (an open or a dead-lettered payout) by name. `activity`, `user` and `grant` are '' if missing.
local function read_fields(raw)
  local fields = { activity = '', user = '', grant = '' }
  for i = 1, #raw, 2 do fields[raw[i]] = raw[i + 1] end
  return fields
end
