-- @include fields
-- Returns payload, key, operation and group of an entry that this lib published; '' for those that are missing.
-- `from`: index of the first field.
local function read_fields(raw, from)
  if #raw == 2 and raw[1] == 'payload' then return raw[2], '', '', '' end
  local found = {}
  for i = from or 1, #raw, 2 do found[raw[i]] = raw[i + 1] end
  return found['payload'] or '', found['key'] or '', found['operation'] or '', found[FOR_GROUP] or ''
end
