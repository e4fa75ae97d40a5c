-- A lock's value: when its lease ends (ms, 13 digits; zeros when it was given up), 1 while a process waits for it, else
-- 0, its fence (16 digits), its owner. Fixed widths, so that a part is changed in place and read without a pattern.
local function parse_lock(raw)
  local till, fence = tonumber(string.sub(raw, 1, 13)), tonumber(string.sub(raw, 15, 30))
  if not till or not fence or #raw < 30 then return nil end
  return { till = till, waits = string.sub(raw, 14, 14), fence = fence, owner = string.sub(raw, 31) }
end

local function format_lock(till, waits, fence, owner)
  return string.format('%013.0f%s%016.0f', till, waits, fence) .. owner
end

local function bad_lock()
  return redis.error_reply('BADLOCK the key holds no lock, nothing was changed')
end
