-- @include fields
-- Names and values of an entry; all in one field if they are too many to be given to one call.
local function few_fields(raw)
  return #raw > 900 and { PACKED, pack_fields(raw, 1) } or raw
end
