-- @include period
-- Returns the first result of this call if it was sent before: the state keeps the token and the result of the call that got the
-- grant, for each item.
local function first_answer(rule, head, grant, token)
  local number, points, used, room, by = string.match(grant or '', '^(%d+):(%d+):(%d+):(%d+):(.*)$')
  if by ~= token then return nil end
  local from, to = string.match(head or '', '^(%d+):(%d+):')
  return { REWARDED, tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1 }
end

local function next_points(rule, sum)
  return rule.cap > 0 and math.min(rule.each, rule.cap - sum) or rule.each
end

-- Returns when the state expires after a grant, as text. A grant of `total` moves it.
local function expiry_after(rule, expires)
  return rule.total_ms > 0 and string.format('%.0f', now_ms + rule.total_ms) or expires
end

-- Format the texts of the state: the head, which describes the user's period, and the grant of one item.
local function format_head(from, to, expires, sum, seq, count)
  return from .. ':' .. to .. ':' .. expires .. ':' .. format_integer(sum) .. ':' .. format_integer(seq) .. ':' .. format_integer(count)
end
local function format_grant(seq, points, used, room, token)
  return format_integer(seq) .. ':' .. format_integer(points) .. ':' .. format_integer(used) .. ':' .. format_integer(room) .. ':' .. token
end
