-- A task that runs may have a next one, which `schedule` has put in its place: its record is that of the next one. State of the run: 'a'
-- while it is leased, 'e' when its attempt has ended. `take` makes the next task due when the lease has ended.
local function has_next(text, token)
  return string.find(text, ' a ' .. token .. ' ', 1, true) or string.find(text, ' e ' .. token .. ' ', 1, true)
end

-- Ends the attempt of a task that has a next one, and wakes the workers.
local function end_before_next(leased, runs, waits, id, text)
  redis.call('ZADD', leased, '0', id)
  redis.call('HSET', runs, id, (string.gsub(text, '^(%d+) a ', '%1 e ', 1)))
  redis.pcall('SPUBLISH', waits, 'due')
end
