-- @include clock
-- The time of day in ms, as text.
local now_text = string.format('%.0f', now_ms)
