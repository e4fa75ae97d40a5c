--[[
consume-fixed-windows: charge several rules with fixed windows, or none of them if one refuses.

KEYS[1..]  counters  per rule  string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1]    parameters   str  per rule three integers, all separated by spaces: limit >= 1, hits a window; windowMs >= 1, ms;
                     cost 1 to limit, hits

Returns {windows}
  windows  flat, per rule: hits in the window, including this request even if it is refused; ms to the end of the window

If a count exceeds its limit, the script subtracts the request from all counters again.
O(N). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: charges once more.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
Error if INCRBY fails, such as on the text that `block` writes; all counts are then as before.
]]
-- @include clock
-- @include integers
local parameters, reply, refused = parse_integers(ARGV[1]), {}, false

-- Subtracts the request from the counters 1 to `last`.
local function restore(last)
  for n = 1, last do
    if redis.call('DECRBY', KEYS[n], parameters[3 * n]) <= 0 then redis.call('DEL', KEYS[n]) end
  end
end

for n = 1, #KEYS do
  local limit, window_ms, cost = parameters[3 * n - 2], parameters[3 * n - 1], parameters[3 * n]
  local used = redis.pcall('INCRBY', KEYS[n], cost)
  if type(used) ~= 'number' then
    restore(n - 1)
    return redis.error_reply('NOCOUNTER INCRBY failed on KEYS[' .. n .. '], all counts are as before: ' .. used.err)
  end
  local ends_ms = used > cost and redis.call('PEXPIRETIME', KEYS[n]) or 0
  if ends_ms == -1 or ends_ms > now_ms + window_ms then
    ends_ms = now_ms + window_ms
    redis.call('PEXPIREAT', KEYS[n], ends_ms)
  elseif ends_ms <= now_ms then
    if used ~= cost then
      redis.call('SET', KEYS[n], cost)
      used = cost
    end
    ends_ms = now_ms + window_ms
    redis.call('PEXPIREAT', KEYS[n], ends_ms)
  end
  reply[2 * n - 1], reply[2 * n] = used, ends_ms - now_ms
  refused = refused or used > limit
end
if refused then restore(#KEYS) end
return reply
