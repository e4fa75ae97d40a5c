-- With `onConflict: 'after'`, `schedule` stores a new task under the id of a running one: the record of the new task replaces the old one.
-- The state in the run (see run.lua) becomes 'a', and 'e' when the attempt has ended. When the lease has ended, `take` makes the new task
-- due. Returns a value that is not nil if a task follows the attempt with this token. `text` is the run of the task.
local function has_next(text, token)
  return string.find(text, ' a ' .. token .. ' ', 1, true) or string.find(text, ' e ' .. token .. ' ', 1, true)
end

-- Marks in the run of a task that its attempt has ended. The caller must set the end of its lease to 0, and wake the workers.
local function end_before_next(text)
  return (string.gsub(text, '^(%d+) a ', '%1 e ', 1))
end
