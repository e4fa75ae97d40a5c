-- Field with the name of the only group that should handle an entry. All groups handle an entry without this field.
local FOR_GROUP = 'luanest:group'

-- Field that contains all fields of an entry in packed form, if they are too many for one XADD.
local PACKED = 'luanest:fields'

-- Packs all fields of an entry except `luanest:group` into one text: each name and each value as `<length>:<bytes>`.
local function pack_fields(raw, from)
  local parts = {}
  for i = from, #raw, 2 do
    if raw[i] ~= FOR_GROUP then
      local at, name, value = #parts, raw[i], raw[i + 1]
      parts[at + 1], parts[at + 2], parts[at + 3], parts[at + 4] = #name .. ':', name, #value .. ':', value
    end
  end
  return table.concat(parts)
end
