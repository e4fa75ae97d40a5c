local function failed(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

-- Returns true if the error means that the group or the stream does not exist.
local function is_gone(reply)
  return string.find(reply.err, 'NOGROUP') ~= nil or string.find(reply.err, 'no such key') ~= nil
end
