-- What is noted of an entry that was tried: attempts that ended, first delivery (ms), last error.
local function tries_of(text)
  local attempts, first, problem = string.match(text or '', '^(%d+) (%d+) (.*)$')
  return tonumber(attempts or '0'), tonumber(first), problem or ''
end

local function tries_text(attempts, first, problem)
  return string.format('%.0f %.0f %s', attempts, first, problem)
end

