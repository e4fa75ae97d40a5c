--[[
history: read the last results of a job.

KEYS[1]  history  list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history

Returns entries
  entries  str  '<status> <slot> <recordedAtMs> <durationMs> <fence> <node>', the newest first

O(entries). TTL: untouched. Clock: none. Replay: reads again.
]]
return redis.call('LRANGE', KEYS[1], 0, -1)
