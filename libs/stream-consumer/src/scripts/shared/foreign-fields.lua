-- @include fields
-- Returns the value of the field `key` in packed fields; nil if there is no such field.
local function find_key(fields)
  local at, name, key = 1, nil, nil
  while at <= #fields do
    local length, start = string.match(fields, '^(%d+):()', at)
    if not length then break end
    at = start + length
    local text = string.sub(fields, start, at - 1)
    if name == 'key' then key = text end
    name = not name and text or nil
  end
  return key
end

-- Returns the key of an entry as text. A key that is not UTF-8, or has control characters, is percent-encoded except for printable ASCII,
-- because Node.js would replace invalid bytes.
local function encode_key(key)
  if not string.find(key, '[^\32-\126]') then return key end
  local utf8 = {
    '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '\237[\128-\159][\128-\191]',
    '[\225-\239][\128-\191][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
    '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
  }
  local rest = key
  for _, sequence in ipairs(utf8) do rest = string.gsub(rest, sequence, ' ') end
  if not string.find(rest, '[^\32-\126]') then return key end
  return (string.gsub(key, '[^\32-\126]', function(char) return string.format('%%%02X', string.byte(char)) end))
end

-- Returns payload, key, operation and group of an entry that another program wrote; '' for those that are missing. The payload consists of
-- all fields, packed. `from`: index of the first field.
local function read_fields(raw, from)
  local group, fields, key
  for i = from or 1, #raw, 2 do
    if raw[i] == FOR_GROUP then group = raw[i + 1] end
    if raw[i] == 'key' then key = raw[i + 1] end
    if raw[i] == PACKED then
      fields = raw[i + 1]
      key = find_key(fields) or key
    end
  end
  return fields or pack_fields(raw, from or 1), encode_key(key or ''), '', group or ''
end
