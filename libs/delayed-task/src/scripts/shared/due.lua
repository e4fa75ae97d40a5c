-- Returns a due time in ms from 'd<ms>', a delay after `from`, or 'a<ms>', an instant; nil for other text.
local function parse_due(text, from)
  local kind, ms = string.match(text, '^([da])(%d+)$')
  if not kind then return nil end
  return kind == 'd' and from + ms or tonumber(ms)
end
