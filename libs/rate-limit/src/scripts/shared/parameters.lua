-- Returns the array in a JSON text. Requests of one route mostly have the same text, so an EVALSHA that runs a group of calls
-- parses each text only once.
local known = {}

local function parse_parameters(text)
  local parameters = cjson.decode(text)
  known[text] = parameters
  return parameters
end
