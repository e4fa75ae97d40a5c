-- @include clock
-- Returns the run of a task: the data of its attempts, which are its value in the hash `runs`. It has the form
-- '<attempt> <state> <token> <due> <failed> <unknown> <error>'. States: l leased; a leased, and another task follows under the same id;
-- e as a, but the attempt has ended; r waits for a retry; b given back by a worker; w rescheduled; d dead-lettered. Times in ms, 0: never:
-- `due`: in the states r and w, when the next attempt is due; otherwise when the last attempt was due.
-- `failed`: when an attempt failed for the first time. For a dead letter without a failed attempt, when a worker found that its lease had
-- ended, or when a worker without a handler first gave it back.
-- `unknown`: when a worker without a handler first gave the task back since an attempt last failed.
local function format_run(attempt, state, token, due, failed, unknown, problem)
  return string.format('%d %s %s %.0f %.0f %.0f ', attempt, state, token, due, failed, unknown) .. problem
end
-- Run of a task that no worker has taken yet. All such tasks share this table, so do not change it.
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
