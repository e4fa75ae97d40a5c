-- @include clock
-- Value of a lock that Redis does not have yet, in the format of record.lua. The calls of a group mostly have the same owner and
-- lease, so the last value is kept. The fence is joined from the texts of TIME, because formatting a number takes longer.
local last_owner, last_lease, last_value
local function new_value(owner, lease_ms)
  if owner ~= last_owner or lease_ms ~= last_lease then
    last_owner, last_lease = owner, lease_ms
    last_value = now_ms + lease_ms .. '0' .. time[1] .. string.sub('00000' .. time[2], -6) .. owner
  end
  return last_value
end
