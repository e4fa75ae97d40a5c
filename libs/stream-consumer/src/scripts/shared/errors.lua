local function failed(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

-- Returns true for the error of a group, or a stream, that does not exist.
local function is_gone(reply)
  return string.find(reply.err, 'NOGROUP') ~= nil or string.find(reply.err, 'no such key') ~= nil
end
