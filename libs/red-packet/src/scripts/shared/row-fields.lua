-- Returns the fields of an entry of an outbox or of the dead letters, by their names. Missing fields of a row are ''.
local function read_fields(raw)
  local fields = { activity = '', user = '', grant = '' }
  for i = 1, #raw, 2 do fields[raw[i]] = raw[i + 1] end
  return fields
end
