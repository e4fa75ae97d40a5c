-- Numbers of texts. Calls of one rule have the same arguments, and finding a number again costs less than reading it.
local numbers = {}
local function number(text)
  local value = tonumber(text)
  numbers[text] = value
  return value
end
