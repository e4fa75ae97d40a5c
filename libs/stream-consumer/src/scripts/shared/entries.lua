-- The consumer that has those entries which nobody works on: they wait for a retry, or for another one of their key.
local WAITING = 'waiting'

-- The field that says which group alone an entry is for: no name that another program would give one.
local FOR_GROUP = 'luanest:group'

-- The field that has all fields of an entry which are too many to be given one by one.
local PACKED = 'luanest:fields'

-- All fields of an entry in one text: `<length>:<bytes>` of each name and of each value.
local function packed(raw, from)
  local parts = {}
  for i = from, #raw, 2 do
    if raw[i] ~= FOR_GROUP then
      local at, name, value = #parts, raw[i], raw[i + 1]
      parts[at + 1], parts[at + 2], parts[at + 3], parts[at + 4] = #name .. ':', name, #value .. ':', value
    end
  end
  return table.concat(parts)
end

-- Names and values of an entry that one call cannot be given beside others, so that they are given in one field.
local MANY = 900

local function few_of(raw)
  return #raw > MANY and { PACKED, packed(raw, 1) } or raw
end

-- The value of `key` among fields in one text.
local function key_among(fields)
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

local UTF8 = {
  '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '\237[\128-\159][\128-\191]', '[\225-\239][\128-\191][\128-\191]',
  '\240[\144-\191][\128-\191][\128-\191]', '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}

-- A key as text that Node gives back as it is: one that is not UTF-8, or has control characters, is percent-encoded.
local function key_text(key)
  if not string.find(key, '[^\32-\126]') then return key end
  local rest = key
  for _, sequence in ipairs(UTF8) do rest = string.gsub(rest, sequence, ' ') end
  if not string.find(rest, '[^\32-\126]') then return key end
  return (string.gsub(key, '[^\32-\126]', function(char) return string.format('%%%02X', string.byte(char)) end))
end

-- The key of an entry; '' for none.
local function key_of(raw, from)
  local key
  for i = from or 1, #raw, 2 do
    if raw[i] == 'key' then key = raw[i + 1] end
    if raw[i] == PACKED then key = key_among(raw[i + 1]) or key end
  end
  return key_text(key or '')
end

-- What is noted of an entry that was tried: attempts that ended, first delivery (ms), last error.
local function tries_of(text)
  local attempts, first, problem = string.match(text or '', '^(%d+) (%d+) (.*)$')
  return tonumber(attempts or '0'), tonumber(first), problem or ''
end

local function tries_text(attempts, first, problem)
  return string.format('%.0f %.0f %s', attempts, first, problem)
end

local function failed(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

-- Whether an error says that the group, or its stream, is gone.
local function is_gone(reply)
  return string.find(reply.err, 'NOGROUP') ~= nil or string.find(reply.err, 'no such key') ~= nil
end
