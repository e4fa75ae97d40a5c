-- Cents of a stretch of a pool, whose entries each carry the sum of all that were appended up to it; nil for no such entries.
local function stretch_cents(first, last)
  local cents, from = string.match(first, '^%d+:(%d+):(%d+)$')
  local till = string.match(last, '^%d+:%d+:(%d+)$')
  return from and till and till - from + cents
end

local function digits(number)
  return string.format('%.0f', number)
end
