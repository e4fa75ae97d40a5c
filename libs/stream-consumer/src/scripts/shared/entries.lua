-- The consumer that has those entries which nobody works on: they wait for a retry, or for another one of their key.
local WAITING = 'waiting'

-- Payload, key, operation and group of an entry; '' for what it has not, as one that another program added.
local function fields_of(raw)
  if #raw == 2 and raw[1] == 'payload' then return raw[2], '', '', '' end
  local found = {}
  for i = 1, #raw, 2 do found[raw[i]] = raw[i + 1] end
  return found['payload'] or '', found['key'] or '', found['operation'] or '', found['group'] or ''
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
