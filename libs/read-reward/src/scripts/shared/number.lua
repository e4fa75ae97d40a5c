-- Parses a number. The calls of a group mostly have the same texts, so each text is parsed once in a group.
local numbers = {}
local function parse_number(text)
  local number = numbers[text]
  if not number then
    number = tonumber(text)
    numbers[text] = number
  end
  return number
end
