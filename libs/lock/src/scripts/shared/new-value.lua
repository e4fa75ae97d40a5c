-- @include clock
-- Value of a lock that had none, laid out as `record` describes. Calls of a group mostly have one owner and lease, so the last
-- value is kept. `acquire` puts it together from the clock's texts, since formatting a number costs more.
local last_owner, last_lease, last_value
local function new_value(owner, lease_ms)
  if owner ~= last_owner or lease_ms ~= last_lease then
    last_owner, last_lease = owner, lease_ms
    last_value = now_ms + lease_ms .. '0' .. time[1] .. string.sub('00000' .. time[2], -6) .. owner
  end
  return last_value
end
