-- See libs/console/DECISIONS.md: listeners-are-the-workers
-- Returns how many connections listen to a channel: one for each process whose consumers read the partition. Returns -1 if the Redis user
-- may not ask.
local function count_listeners(channel)
  local reply = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
  return not reply.err and reply[2] or -1
end
