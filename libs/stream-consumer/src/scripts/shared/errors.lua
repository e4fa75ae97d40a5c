local function failed(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

-- Whether an error says that the group, or its stream, is gone.
local function is_gone(reply)
  return string.find(reply.err, 'NOGROUP') ~= nil or string.find(reply.err, 'no such key') ~= nil
end
