--[[
consume-fixed-windows: count a request under several rules with fixed windows, or under none of them if one refuses.

KEYS[1..]  counters  per rule  string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1..]  rules     list(int)  per rule three: limit, int >= 1, hits a window; windowMs, int >= 1, ms; cost, int 1 to limit,
                     hits to count

Returns {windows} | undecided
  windows    flat, per rule: hits in the window, including this request even if it is refused; ms to the end of the window
  undecided  0  nothing was counted, because the script block or reset has marked a counter (see fixed-window.lua), or because INCRBY
             failed, such as on the text of another program. The caller must then call consume

If a count exceeds its limit, or a counter is marked, the script subtracts the request from all counters again.
O(N). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: counts the request once more.
Loops over KEYS, so it cannot run on a managed Cluster that allows only literal KEYS[n].
]]
local reply, last, refused, undecided = {}, #KEYS, false, false

for n = 1, last do
  local window_ms, cost = ARGV[3 * n - 1] + 0, ARGV[3 * n]
  local used = redis.pcall('INCRBY', KEYS[n], cost)
  if type(used) ~= 'number' then
    last, undecided = n - 1, true
    break
  end
  -- A counter with one hit is new, so it has no TTL yet.
  local left_ms = used == 1 and -1 or redis.call('PTTL', KEYS[n])
  -- The marks are 2^51 and 2^52, see fixed-window.lua.
  if used >= 2251799813685248 then
    undecided = true
  elseif left_ms <= 0 or left_ms > window_ms or used <= 0 then
    if left_ms == 0 or used <= 0 then
      -- The counter is not new, but its TTL is of no use: its window ends in this ms, or another program has written a negative count.
      redis.call('SET', KEYS[n], cost, 'PX', window_ms)
      used = cost + 0
    else
      redis.call('PEXPIRE', KEYS[n], window_ms)
    end
    left_ms = window_ms
  end
  reply[2 * n - 1], reply[2 * n] = used, left_ms
  refused = refused or used - ARGV[3 * n - 2] > 0
end
if not refused and not undecided then return reply end

for n = 1, last do
  if redis.call('DECRBY', KEYS[n], ARGV[3 * n]) <= 0 then redis.call('DEL', KEYS[n]) end
end
return undecided and 0 or reply
