-- What the hash `runs` keeps of a task that was taken at least once: '<attempt> <state> <token> <due> <failed> <error>'.
-- States: l leased, r to be retried, b handed back, d dead.
local function run_text(attempt, state, token, due, failed, problem)
  return string.format('%d %s %s %.0f %.0f ', attempt, state, token, due, failed) .. problem
end
-- Of a task that was never taken; not to be changed.
local NEW_RUN = { attempt = 0, state = 'n', token = '-', due = now, failed = 0, problem = '' }
local function run_of(text)
  local attempt, state, token, due, failed, problem = string.match(text or '', '^(%d+) (%a) (%S+) (%d+) (%d+) (.*)$')
  if not attempt then return NEW_RUN end
  return {
    attempt = tonumber(attempt), state = state, token = token, due = tonumber(due), failed = tonumber(failed),
    problem = problem,
  }
end
