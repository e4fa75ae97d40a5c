-- @include clock
-- Time of Redis, ms since the epoch, as text.
local now_text = string.format('%.0f', now_ms)
