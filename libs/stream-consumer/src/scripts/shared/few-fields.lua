-- @include fields
-- Returns names and values of an entry. If one call cannot take so many arguments, they are packed into one field.
local function few_fields(raw)
  return #raw > 900 and { PACKED, pack_fields(raw, 1) } or raw
end
