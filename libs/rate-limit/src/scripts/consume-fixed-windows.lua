--[[
consume-fixed-windows: charge several rules with fixed windows, or none of them if one refuses.

KEYS[1..]  counters  per rule  string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1]    parameters   str  JSON array, per rule three: limit, int >= 1, hits a window; windowMs, int >= 1, ms; cost, 1 to limit,
                     hits to charge, an integer as text

Returns {windows}
  windows  flat, per rule: hits in the window, including this request even if it is refused; ms to the end of the window

If a count exceeds its limit, the script subtracts the request from all counters again.
O(N). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: charges once more.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
Error if INCRBY fails, such as on the text that `block` writes; all counts are then as before.
]]
-- @include parameters
local parameters, reply, last, failed = known[ARGV[1]] or parse_parameters(ARGV[1]), {}, #KEYS, nil
local refused = false

for n = 1, last do
  local window_ms, cost = parameters[3 * n - 1], parameters[3 * n]
  local used = redis.pcall('INCRBY', KEYS[n], cost)
  if type(used) ~= 'number' then
    failed, last = used.err, n - 1
    break
  end
  -- Only a new counter has one hit, and so no TTL.
  local left_ms = used == 1 and -1 or redis.call('PTTL', KEYS[n])
  if left_ms <= 0 or left_ms > window_ms or used <= 0 then
    if left_ms == 0 or used <= 0 then
      -- The window ends in this ms, or another program has written a negative count.
      redis.call('SET', KEYS[n], cost, 'PX', window_ms)
      used = cost + 0
    else
      redis.call('PEXPIRE', KEYS[n], window_ms)
    end
    left_ms = window_ms
  end
  reply[2 * n - 1], reply[2 * n] = used, left_ms
  refused = refused or used > parameters[3 * n - 2]
end
if not refused and not failed then return reply end

for n = 1, last do
  if redis.call('DECRBY', KEYS[n], parameters[3 * n]) <= 0 then redis.call('DEL', KEYS[n]) end
end
if failed then
  return redis.error_reply('NOCOUNTER INCRBY failed on KEYS[' .. last + 1 .. '], all counts are as before: ' .. failed)
end
return reply
