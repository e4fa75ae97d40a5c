-- @include period
-- Returns the first result of this call if it was sent before. For this, each grant in the state has the token and the result of its call.
-- A grant of the script record lacks the number of remaining items (room), which follows from the others: all items get the same points.
local function first_answer(rule, head, grant, token)
  local seq, refunds, points, room, by = string.match(grant or '', '^(%d+):(%d+):(%d+):(%d*):(.*)$')
  if by ~= token then return nil end
  local from, to = string.match(head or '', '^(%d+):(%d+):')
  local used = seq - refunds
  local left = tonumber(room) or count_room(rule, used, points * used)
  return { REWARDED, tonumber(points), used, left, tonumber(seq), from - rule.b1, to - rule.b1 }
end

local function next_points(rule, sum)
  return rule.cap > 0 and math.min(rule.each, rule.cap - sum) or rule.each
end

-- Returns the time at which the state expires after a grant, as text. For the period `total`, each grant moves it.
local function expiry_after(rule, expires)
  return rule.total_ms > 0 and string.format('%.0f', now_ms + rule.total_ms) or expires
end

-- Makes the head of a user's state: the field with an empty name, which describes the period. `refunds` is the number of refunded grants
-- of the period, so seq - refunds items count.
local function format_head(each, from, to, expires, sum, seq, refunds)
  local extra = sum - each * (seq - refunds)
  return table.concat({ from, to, expires, each, format_integer(extra), format_integer(seq), format_integer(refunds) }, ':')
end
local function format_grant(seq, points, refunds, room, token)
  return table.concat({ format_integer(seq), format_integer(refunds), format_integer(points), format_integer(room), token }, ':')
end
