-- 'd<ms>' is a delay from now, 'a<ms>' an instant.
local function parse_due(text, from)
  local kind, ms = string.match(text, '^([da])(%d+)$')
  if not kind then return nil end
  return kind == 'd' and from + ms or tonumber(ms)
end
