-- Redis' clock as text, us (16 digits), read once for all calls of a group.
local time = redis.call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6)
-- Value of a lock with the last owner and lease. The calls of a group mostly have the same, so it is made once.
local last_owner, last_lease, last_value
