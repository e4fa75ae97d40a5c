-- @include ids
-- Returns the groups that must finish an entry before it may be deleted, except the group `own`: for each its name, the id that it has read
-- last, and the key of its unfinished entries. Returns nil if no entry may be deleted, because one of the groups in `needs` does not exist
-- on this partition, or `needs` is '*'. `groups`: reply of XINFO GROUPS. `needs`: names of the stream's groups, separated by spaces.
-- `first`: index in KEYS of the first group's key of unfinished entries. The keys of the other groups follow, in the order of `needs`.
local function find_settlers(groups, own, needs, first)
  if needs == '*' then return nil end
  local others, there, keys = {}, {}, {}
  for name in string.gmatch(needs, '%S+') do
    keys[name], first = KEYS[first], first + 1
    if keys[name] then redis.call('SCARD', keys[name]) end
  end
  for _, row in ipairs(groups) do
    local group = {}
    for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
    there[group['name']] = true
    local name = group['name']
    if name ~= own then others[#others + 1] = { name = name, read = group['last-delivered-id'], unsettled = keys[name] } end
  end
  for name in string.gmatch(needs, '%S+') do
    if not there[name] then return nil end
  end
  return others
end

-- Returns true if one of the groups `others` has not finished an entry. An entry that another client has removed from the list of pending
-- entries still counts as unfinished.
local function is_needed(id, others)
  for _, other in ipairs(others) do
    if comes_after(id, other.read) or #redis.call('XPENDING', KEYS[1], other.name, id, id, 1) > 0 then return true end
    if other.unsettled and redis.call('SISMEMBER', other.unsettled, id) == 1 then return true end
  end
  return false
end
