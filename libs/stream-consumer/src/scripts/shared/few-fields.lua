-- @include fields
-- Returns the names and values of an entry. If they are too many for one XADD, they are packed into one field.
local function few_fields(raw)
  return #raw > 900 and { PACKED, pack_fields(raw, 1) } or raw
end
