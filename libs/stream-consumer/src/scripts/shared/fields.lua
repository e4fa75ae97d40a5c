-- Name of the field with the group that an entry is for. An entry without the field is for every group.
local FOR_GROUP = 'luanest:group'

-- Name of the field that contains all fields of an entry that has too many for one XADD.
local PACKED = 'luanest:fields'

-- Packs all fields of an entry but `luanest:group` into one text: `<length>:<bytes>` of each name and of each value.
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
