local NEVER = 9007199254740991
local LEASE_ENDED = 'the lease ended: the worker died or stood still in the last attempt'
-- Most bytes of the records of one take, but for a single one that has more.
local MOST_CHARS = 16777216
-- How many of the first `count` records are within that, at least one.
local function fitting(records, count)
  local size = 0
  for i = 1, count do
    size = size + #(records[i] or '')
    if size > MOST_CHARS and i > 1 then return i - 1 end
  end
  return count
end
