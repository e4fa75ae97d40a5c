-- Value of a lock: end of its lease (ms, 13 digits; zeros after a release), 1 while processes wait for it, else 0, its fence (16
-- digits), its owner. The widths are fixed, so that SETRANGE can change one part, and reading needs no pattern.
-- parse_lock returns nil for a value that is not a lock.
local function parse_lock(raw)
  local till, fence = tonumber(string.sub(raw, 1, 13)), tonumber(string.sub(raw, 15, 30))
  if not till or not fence or #raw < 30 then return nil end
  return { till = till, waits = string.sub(raw, 14, 14), fence = fence, owner = string.sub(raw, 31) }
end

local function format_lock(till, waits, fence, owner)
  return string.format('%013.0f%s%016.0f', till, waits, fence) .. owner
end

local function bad_lock()
  return redis.error_reply('BADLOCK the key of the lock has a value that another program wrote, nothing was changed')
end
