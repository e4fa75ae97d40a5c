--[[
consume-fixed-window: count a request under one rule with a fixed window, with INCRBY and the TTL of its counter. Faster than consume.

KEYS[1]  counter   string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1]  limit     int >= 1, hits a window; (limit + 1) * (windowMs + 1) must be below 2^53
ARGV[2]  windowMs  int >= 1, ms
ARGV[3]  cost      int 1 to limit, hits to count

Returns used | refused | undecided
  used       int        if the request is allowed: used * (windowMs + 1) + resetMs in one number, because an array costs Redis more.
                        used: hits in the window, including this request; resetMs: ms to the end of the window, 1 to windowMs
  refused    int, int   if the request is refused: hits in the window; resetMs
  undecided  0          nothing was counted, because the script block or reset has marked the counter (see fixed-window.lua), or
                        because INCRBY failed, such as on the text of another program. The caller must then call consume

O(1). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: counts the request once more.
]]
local window_ms = ARGV[2] + 0
local used = redis.pcall('INCRBY', KEYS[1], ARGV[3])
if type(used) ~= 'number' then return 0 end
-- A counter with one hit is new, so it has no TTL yet.
local left_ms = used == 1 and -1 or redis.call('PTTL', KEYS[1])
local over = used - ARGV[1] > 0
-- The marks are 2^51 and 2^52, see fixed-window.lua.
if over and used >= 2251799813685248 then
  redis.call('DECRBY', KEYS[1], ARGV[3])
  return 0
end
if left_ms <= 0 or left_ms > window_ms or used <= 0 then
  if left_ms == 0 or used <= 0 then
    -- The counter is not new, but has no usable TTL: its window ends in this ms, or another program has written a negative count.
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    used, over = ARGV[3] + 0, false
  else
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  left_ms = window_ms
end
if over then return { redis.call('DECRBY', KEYS[1], ARGV[3]), left_ms } end
return used * (window_ms + 1) + left_ms
