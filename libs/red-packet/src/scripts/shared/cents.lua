-- Returns the cents of all packets of a pool, from its first and its last entry; nil if one of them is invalid. Each entry has a running
-- sum of cents, so no entry in between is read.
local function sum_cents(first, last)
  local cents, from = string.match(first, '^%d+:(%d+):(%d+)$')
  local till = string.match(last, '^%d+:%d+:(%d+)$')
  return from and till and till - from + cents
end

-- Returns an integer as text without an exponent.
local function format_number(number)
  return string.format('%.0f', number)
end
