-- One that is new, and one that was delivered before.
local function add_fresh(rows, id, payload, key, operation)
  local at = #rows
  rows[at + 1], rows[at + 2], rows[at + 3], rows[at + 4] = id, payload, key, operation
end

local function add_again(rows, id, payload, key, operation, attempt, first)
  add_fresh(rows, id, payload, key, operation)
  local at = #rows
  rows[at + 1], rows[at + 2] = string.format('%.0f', attempt), string.format('%.0f', first)
end

local function rows_after(head, again, fresh)
  for i = 1, #again do head[#head + 1] = again[i] end
  for i = 1, #fresh do head[#head + 1] = fresh[i] end
  return head
end

-- Which of the ids none of the entries has.
local function missing_in(entries, ids)
  local there, missing = {}, {}
  for _, entry in ipairs(entries) do there[entry[1]] = true end
  for _, id in ipairs(ids) do
    if not there[id] then missing[#missing + 1] = id end
  end
  return missing
end

-- How long until an instant, ms; 0 where it has passed, -1 where there is none.
local function ms_until(at)
  return at and math.max(0, at - now) or -1
end
