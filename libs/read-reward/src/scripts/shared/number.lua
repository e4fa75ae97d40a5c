-- A number of a text. Calls of a group mostly have the same texts, so each is parsed once a group.
local numbers = {}
local function parse_number(text)
  local number = numbers[text]
  if not number then
    number = tonumber(text)
    numbers[text] = number
  end
  return number
end
