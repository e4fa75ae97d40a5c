-- The consumer that has those entries which nobody works on: they wait for a retry, or for another one of their key.
local WAITING = 'waiting'

-- The field that says which group alone an entry is for: no name that another program would give one.
local FOR_GROUP = 'luanest:group'

-- A text as JSON has it.
local function quoted(text)
  local function escaped(char) return string.format('\\u%04x', string.byte(char)) end
  return '"' .. string.gsub(text, '[%z\1-\31"\\]', escaped) .. '"'
end

-- The payload of an entry that another program added: the object of its fields.
local function object_of(raw, from)
  local parts = {}
  for i = from, #raw, 2 do
    if raw[i] ~= FOR_GROUP then parts[#parts + 1] = quoted(raw[i]) .. ':' .. quoted(raw[i + 1]) end
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- Payload, key, operation and group of an entry from its fields, or from those behind the first few; '' for what it has not.
local function fields_of(raw, from)
  if #raw == 2 and raw[1] == 'payload' then return raw[2], '', '', '' end
  local found = {}
  for i = from or 1, #raw, 2 do found[raw[i]] = raw[i + 1] end
  return found['payload'] or object_of(raw, from or 1), found['key'] or '', found['operation'] or '', found[FOR_GROUP] or ''
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
