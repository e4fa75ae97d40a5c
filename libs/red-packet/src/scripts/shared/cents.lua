-- Returns the cents of all pool entries from `first` to `last`; nil if `first` or `last` is invalid. Each entry ends in the sum of
-- all cents that were appended to the pool up to this entry, so no entry in between is read.
local function sum_cents(first, last)
  local cents, from = string.match(first, '^%d+:(%d+):(%d+)$')
  local till = string.match(last, '^%d+:%d+:(%d+)$')
  return from and till and till - from + cents
end

-- Returns an integer as text without an exponent.
local function format_number(number)
  return string.format('%.0f', number)
end
