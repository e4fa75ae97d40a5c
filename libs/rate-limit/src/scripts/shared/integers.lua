-- Parses the integers of a text. Requests of one route have the same text, so each text is parsed once per group of calls.
local known = {}

local function parse_integers(text)
  local integers = known[text]
  if integers then return integers end
  integers = {}
  for digits in string.gmatch(text, '%d+') do integers[#integers + 1] = tonumber(digits) end
  known[text] = integers
  return integers
end
