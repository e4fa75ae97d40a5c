-- Redis' clock in microseconds, read once for all calls that are sent together. Joining the two strings that TIME returns is faster than
-- formatting numbers.
local sub = string.sub
local time = redis.call('TIME')
local us = time[2]
if #us < 6 then us = sub('00000' .. us, -6) end
local now_text = time[1] .. us
local now_us, now_ms = now_text + 0, sub(now_text, 1, 13) + 0
-- Value of the last acquired lock. Calls that are sent together mostly have the same owner and lease, so the value can be used again.
local last_owner, last_lease, last_value
