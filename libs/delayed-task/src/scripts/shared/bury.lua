-- @include run
-- @include task-record
-- @include lines
local LEASE_ENDED = 'the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis'
-- Tasks that this call has dead-lettered: `buried` has their ids; `buried_rows` has id, name, last attempt and group of each.
local buried, buried_rows = {}, {}
local function add_buried(id, record, attempt)
  local n = #buried_rows
  buried[#buried + 1] = id
  buried_rows[n + 1], buried_rows[n + 2], buried_rows[n + 3] = id, name_of(record), attempt
  buried_rows[n + 4] = group_of(record) or ''
end

local function bury(leased, runs, dead, id, record, run)
  add_buried(id, record, run.attempt)
  redis.call('ZREM', leased, id)
  redis.call('ZADD', dead, now_ms, id)
  local failed = run.failed > 0 and run.failed or now_ms
  redis.call('HSET', runs, id, format_run(run.attempt, 'd', run.token, run.due, failed, 0, LEASE_ENDED))
end
