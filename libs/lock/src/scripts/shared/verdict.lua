-- @include clock
-- Compares the value of a lock with an owner. Returns 'held', 'released' (by this owner before) or 'lost', and the mark of waiting
-- processes; nil if the value is not a lock. Locks that one group took mostly have the same value, so the last verdict is kept.
local last_raw, last_owner, last_verdict, last_waits
local function judge(raw, owner)
  if raw == last_raw and owner == last_owner then return last_verdict, last_waits end
  local till = tonumber(string.sub(raw, 1, 13))
  if not till or #raw < 30 then return nil end
  last_raw, last_owner, last_waits = raw, owner, string.sub(raw, 14, 14)
  if string.sub(raw, 31) ~= owner then
    last_verdict = 'lost'
  elseif till == 0 then
    -- A release keeps the owner in the value, so that its replay gets the same reply.
    last_verdict = 'released'
  else
    last_verdict = till > now_ms and 'held' or 'lost'
  end
  return last_verdict, last_waits
end
