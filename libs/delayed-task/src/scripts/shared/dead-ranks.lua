-- Compares byte by byte, as Redis does for members with the same score. The operator < of Lua depends on the locale.
local function is_after(member, id)
  for i = 1, math.max(#member, #id) do
    local one, other = string.byte(member, i) or -1, string.byte(id, i) or -1
    if one ~= other then return one > other end
  end
  return false
end
-- Returns the first rank from `low` to below `high` whose member comes after `id`; `high` if there is no such member. All these
-- members have the same score.
local function rank_after(low, high, id, member_at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_after(member_at(middle), id) then high = middle else low = middle + 1 end
  end
  return low
end
