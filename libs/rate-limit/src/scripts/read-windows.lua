--[[
read-windows: read when the fixed windows end in which `consume-fixed-window` and `consume-fixed-windows` charge.

KEYS[1..]  counters  per rule  string  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>

Returns {windows}
  windows  flat, per rule: end of the window, ms since 1970; ms to this end. Both are -1 without a TTL; -2 without a counter,
           or if only `consume` can charge it

O(N). TTL: unchanged. Clock: Redis. Replay: harmless, nothing is written.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
]]
local windows = {}
for n = 1, #KEYS do
  -- MGET returns nil for a key of another type, where GET would fail.
  local integer = string.find(redis.call('MGET', KEYS[n])[1] or '', '^%d+$')
  windows[2 * n - 1] = integer and redis.call('PEXPIRETIME', KEYS[n]) or -2
  windows[2 * n] = integer and redis.call('PTTL', KEYS[n]) or -2
end
return windows
