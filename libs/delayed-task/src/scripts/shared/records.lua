-- Most bytes of the records of one take. If the first record has more, its task is taken alone.
local MOST_BYTES = 16777216
-- Bytes of the records that this take has read.
local size = 0

-- Returns the records and runs of the tasks. Removes ids from the end until their records fit into one take.
local function read_tasks(tasks, runs, ids)
  local records = redis.call('HMGET', tasks, unpack(ids))
  for i = 1, #ids do
    size = size + #(records[i] or '')
    if size > MOST_BYTES and i > 1 then ids[i] = nil end
  end
  return records, redis.call('HMGET', runs, unpack(ids))
end
