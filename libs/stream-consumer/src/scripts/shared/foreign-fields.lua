-- As of an entry that was published here, but of one that another program wrote: its payload is all of its fields, packed.
local function fields_of(raw, from)
  local group, fields
  for i = from or 1, #raw, 2 do
    if raw[i] == FOR_GROUP then group = raw[i + 1] end
    if raw[i] == PACKED then fields = raw[i + 1] end
  end
  return fields or packed(raw, from or 1), key_of(raw, from), '', group or ''
end
