-- Parses the value of a lock; returns nil for any other value. The value of a lock consists of the end of the lease (ms, 13 digits; zeros
-- after a release), a mark (1 while processes wait for the lock, otherwise 0), the fence (16 digits) and the owner's token. The widths are
-- fixed, so that SETRANGE can change one part, and reading needs no pattern.
local function parse_lock(raw)
  local till, fence = tonumber(string.sub(raw, 1, 13)), tonumber(string.sub(raw, 15, 30))
  if not till or not fence or #raw < 30 then return nil end
  return { till = till, waits = string.sub(raw, 14, 14), fence = fence, owner = string.sub(raw, 31) }
end

local function format_lock(till, waits, fence, owner)
  return string.format('%013.0f%s%016.0f', till, waits, fence) .. owner
end

local function bad_lock()
  return redis.error_reply('BADLOCK another program wrote the key of this lock; nothing was changed. Delete the key, or use another prefix')
end
