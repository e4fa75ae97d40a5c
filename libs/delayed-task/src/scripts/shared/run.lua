-- @include clock
-- Value of a task in the hash `runs`: '<attempt> <state> <token> <due> <failed> <unknown> <error>'.
-- States: l leased, a and e leased with a next task (see next.lua), r waits for a retry, b handed back, w rescheduled, d dead-lettered.
-- Instants in ms, 0 for never:
-- `due`: in r and w, when the next attempt is due; else when the attempt, or an earlier one whose lease ended, was due.
-- `failed`: when an attempt first failed. For a dead letter without a failed attempt, when it was found that its lease had ended,
-- or when a worker without a handler first handed it back.
-- `unknown`: when a worker without a handler first handed the task back since `fail` last settled an attempt.
local function format_run(attempt, state, token, due, failed, unknown, problem)
  return string.format('%d %s %s %.0f %.0f %.0f ', attempt, state, token, due, failed, unknown) .. problem
end
-- Run of a task that was never taken. All such tasks share this table, so do not change it.
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
