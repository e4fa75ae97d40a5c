--[[
history: read how the last runs of a job went.

KEYS[1]  history  list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history

Returns entries
  entries  str  '<outcome> <slot> <at> <durationMs> <fence> <node>', the newest first

O(entries). TTL: untouched. Clock: none. Replay: reads again.
]]
return redis.call('LRANGE', KEYS[1], 0, -1)
