-- The integers of a text, by text: requests of one route bring the same one.
local known_figures = {}

local function figures_of(text)
  local figures = known_figures[text]
  if figures then return figures end
  figures = {}
  for digits in string.gmatch(text, '%d+') do figures[#figures + 1] = tonumber(digits) end
  known_figures[text] = figures
  return figures
end
