-- What is noted of a stream goes when the stream does, where whoever writes it lets it expire.
local function expire_with(stream, ...)
  local at = redis.call('PEXPIRETIME', stream)
  if at < 0 then return end
  for _, key in ipairs({ ... }) do redis.call('PEXPIREAT', key, at) end
end
