-- Parses a number. Calls of one rule have the same arguments, and a table lookup costs less than parsing.
local numbers = {}
local function number(text)
  local value = tonumber(text)
  numbers[text] = value
  return value
end
