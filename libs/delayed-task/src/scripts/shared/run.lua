-- @include clock
-- Value of a task in the hash `runs`: '<attempt> <state> <token> <due> <failed> <unknown> <error>'.
-- States: l leased, r to be retried, b handed back, w rescheduled, d dead. Instants in ms: `due` is when the attempt is or
-- was due; `failed` when one first failed, `unknown` when a worker first handed it back because it did not know its name; 0: never.
local function format_run(attempt, state, token, due, failed, unknown, problem)
  return string.format('%d %s %s %.0f %.0f %.0f ', attempt, state, token, due, failed, unknown) .. problem
end
-- The run of a task that was never taken; must not be changed.
local NEW_RUN = { attempt = 0, state = 'n', token = '-', due = now_ms, failed = 0, unknown = 0, problem = '' }
local RUN = '^(%d+) (%a) (%S+) (%d+) (%d+) (%d+) (.*)$'
local function parse_run(text)
  local attempt, state, token, due, failed, unknown, problem = string.match(text or '', RUN)
  if not attempt then return NEW_RUN end
  return {
    attempt = tonumber(attempt), state = state, token = token, due = tonumber(due), failed = tonumber(failed),
    unknown = tonumber(unknown), problem = problem,
  }
end
