-- Maximum number of bytes of the tasks that one call of `take` returns. A larger task is returned alone.
local MOST_BYTES = 16777216
-- Number of bytes of the records that this call has read.
local size = 0

-- Returns the records and the runs of tasks. If the records exceed the maximum, removes the last ids.
local function read_tasks(tasks, runs, ids)
  local records = redis.call('HMGET', tasks, unpack(ids))
  for i = 1, #ids do
    size = size + #(records[i] or '')
    if size > MOST_BYTES and i > 1 then ids[i] = nil end
  end
  return records, redis.call('HMGET', runs, unpack(ids))
end
