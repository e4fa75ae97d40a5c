-- Redis' clock, read once for all calls of a group. The texts of TIME are joined, because formatting a number takes longer.
local sub = string.sub
local time = redis.call('TIME')
local us = time[2]
if #us < 6 then us = sub('00000' .. us, -6) end
local now_text = time[1] .. us
local now_us, now_ms = now_text + 0, sub(now_text, 1, 13) + 0
-- Value of a lock with the last owner and lease. The calls of a group mostly have the same, so it is made once.
local last_owner, last_lease, last_value
