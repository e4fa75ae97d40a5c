-- @include fields
-- Returns the names and values of an entry. If there are too many for one XADD, it packs them into one field.
local function few_fields(raw)
  return #raw > 900 and { PACKED, pack_fields(raw, 1) } or raw
end
