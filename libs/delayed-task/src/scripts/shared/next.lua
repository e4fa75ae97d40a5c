-- A task that runs may have a next one, which `schedule` has put in its place: its record is that of the next one. State of the run: 'a'
-- while it is leased, 'e' when its attempt has ended. `take` makes the next task due when the lease has ended.
local function has_next(text, token)
  return string.find(text, ' a ' .. token .. ' ', 1, true) or string.find(text, ' e ' .. token .. ' ', 1, true)
end

-- Returns the run of a task whose attempt has ended. The caller ends its lease, and wakes the workers.
local function end_before_next(text)
  return (string.gsub(text, '^(%d+) a ', '%1 e ', 1))
end
