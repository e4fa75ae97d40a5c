-- Parses a number and keeps it in `numbers`. A group of calls in one EVALSHA mostly has the same arguments, and a lookup in
-- `numbers` costs less than parsing.
local numbers = {}
local function number(text)
  local value = tonumber(text)
  numbers[text] = value
  return value
end
