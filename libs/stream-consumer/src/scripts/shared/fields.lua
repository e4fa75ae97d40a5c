-- Name of the field with the one group that an entry is for. Other programs do not use such a name.
local FOR_GROUP = 'luanest:group'

-- Name of the field that has all fields of an entry with too many of them.
local PACKED = 'luanest:fields'

-- All fields of an entry in one text: `<length>:<bytes>` of each name and of each value.
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
