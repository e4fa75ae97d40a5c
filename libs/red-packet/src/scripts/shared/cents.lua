-- Cents of the entries of a pool from `first` to `last`; nil if one of them is invalid. Each entry has the sum of all cents
-- that were appended up to it.
local function sum_cents(first, last)
  local cents, from = string.match(first, '^%d+:(%d+):(%d+)$')
  local till = string.match(last, '^%d+:%d+:(%d+)$')
  return from and till and till - from + cents
end

local function format_number(number)
  return string.format('%.0f', number)
end
