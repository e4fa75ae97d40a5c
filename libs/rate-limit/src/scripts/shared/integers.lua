-- Returns the integers in a text. Requests of one route mostly have the same text, so an EVALSHA that runs a group of calls
-- parses each text only once.
local known = {}

local function parse_integers(text)
  local integers = known[text]
  if integers then return integers end
  integers = {}
  for digits in string.gmatch(text, '%d+') do integers[#integers + 1] = tonumber(digits) end
  known[text] = integers
  return integers
end
