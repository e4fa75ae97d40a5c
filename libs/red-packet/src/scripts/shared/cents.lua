-- Returns the cents of all pool entries from `first` to `last`; nil if `first` or `last` is invalid. Each entry ends in a
-- running sum of the cents in the pool, so no entry in between is read.
local function sum_cents(first, last)
  local cents, from = string.match(first, '^%d+:(%d+):(%d+)$')
  local till = string.match(last, '^%d+:%d+:(%d+)$')
  return from and till and till - from + cents
end

-- Returns an integer as text without an exponent.
local function format_number(number)
  return string.format('%.0f', number)
end
