-- Parses what the hash `tries` has about an entry: `<attempts that ended> <first delivery, ms> <last error>`. The number of attempts is
-- followed by `.<n>` if consumers have given the entry back n times in attempts that did not count. Returns attempts, first delivery,
-- error, n.
local function parse_tries(text)
  local attempts, returned, first, problem = string.match(text or '', '^(%d+)%.?(%d*) (%d+) (.*)$')
  return tonumber(attempts or '0'), tonumber(first), problem or '', tonumber(returned) or 0
end

local function format_attempts(attempts, returned)
  return string.format(returned > 0 and '%.0f.%.0f' or '%.0f', attempts, returned)
end

local function format_tries(attempts, returned, first, problem)
  return string.format('%s %.0f %s', format_attempts(attempts, returned), first, problem)
end
