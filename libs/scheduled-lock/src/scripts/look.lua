--[[
look: read the last run of a job, and its last results.

KEYS[1]  state    hash       <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
KEYS[2]  history  list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history
ARGV[1]  entries  int        maximum number of results to read, 1 or more

Returns {run, owner, mode, fence, since, till, outcomes}
  run       str  none: Redis knows no run | running | died: its lease has ended, and no result was stored | done
  owner     str  token of the run; '' for none
  mode      str  tick | catch-up | free; '' for none
  fence     str  digits; '0' for none
  since     str  digits: start of the run, ms since 1970; '0' for none
  till      str  digits: end of its lease, ms since 1970, perhaps later than the end of the run; '0' for none
  outcomes  results: '<status> <slot> <recordedAtMs> <durationMs> <fence> <node>', the newest first

O(entries). TTL: untouched. Clock: Redis. Replay: reads again.
]]
local seen = redis.call('HMGET', KEYS[1], 'owner', 'mode', 'fence', 'since', 'till', 'done')
local reply = { 'none', seen[1] or '', seen[2] or '', seen[3] or '0', seen[4] or '0', seen[5] or '0' }
if seen[1] then
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  reply[1] = seen[6] == '1' and 'done' or (tonumber(seen[5]) or 0) > now_ms and 'running' or 'died'
end
local outcomes = redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1)
for i = 1, #outcomes do reply[6 + i] = outcomes[i] end
return reply
