-- Reads a due time, ms: 'd<ms>' is a delay after `from`, 'a<ms>' an instant. Returns nil for other text.
local function parse_due(text, from)
  local kind, ms = string.match(text, '^([da])(%d+)$')
  if not kind then return nil end
  return kind == 'd' and from + ms or tonumber(ms)
end
