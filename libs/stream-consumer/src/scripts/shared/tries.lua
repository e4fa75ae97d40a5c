-- Parses what the hash `tries` has about an entry: `<attempts that ended> <first delivery, ms> <last error>`.
local function parse_tries(text)
  local attempts, first, problem = string.match(text or '', '^(%d+) (%d+) (.*)$')
  return tonumber(attempts or '0'), tonumber(first), problem or ''
end

local function format_tries(attempts, first, problem)
  return string.format('%.0f %.0f %s', attempts, first, problem)
end

