-- Calls of a group mostly have the same figures, so each text is read once a group.
local figures = {}
local function figure_of(text)
  local figure = figures[text]
  if not figure then
    figure = tonumber(text)
    figures[text] = figure
  end
  return figure
end
