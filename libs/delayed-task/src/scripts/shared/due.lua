-- Reads a due time, ms: 'd<ms>' is a delay from the time `from` on, 'a<ms>' a time since 1970. Returns nil for other text.
local function parse_due(text, from)
  local kind, ms = string.match(text, '^([da])(%d+)$')
  if not kind then return nil end
  return kind == 'd' and from + ms or tonumber(ms)
end
