-- Compares two ids byte by byte, as Redis orders members with the same score. Lua's operator < would depend on the locale.
local function is_after(member, id)
  for i = 1, math.max(#member, #id) do
    local one, other = string.byte(member, i) or -1, string.byte(id, i) or -1
    if one ~= other then return one > other end
  end
  return false
end
-- Binary search in the ranks `low` to `high` - 1 of a sorted set, all with the same score. Returns the first rank whose member comes after
-- `id`; `high` if there is none.
local function rank_after(low, high, id, member_at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_after(member_at(middle), id) then high = middle else low = middle + 1 end
  end
  return low
end
