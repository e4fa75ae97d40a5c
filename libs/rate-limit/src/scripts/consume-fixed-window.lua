--[[
consume-fixed-window: charge one rule with a fixed window, by INCRBY and the expiry of its counter. Costs less than `consume`.

KEYS[1]  counter   string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1]  limit     int >= 1, hits a window; (limit + 1) * (windowMs + 1) must be below 2^53
ARGV[2]  windowMs  int >= 1, ms
ARGV[3]  cost      int 1 to limit, hits to charge

Returns {used, resetMs}
  used     int  hits in the window, including this request only if it is allowed
  resetMs  int  ms to the end of the window; 1 to windowMs

If the request is allowed, the two are one number, since an array costs Redis more: used * (windowMs + 1) + resetMs.
O(1). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: charges once more.
Error, and no write, if INCRBY fails, such as on the text that `block` writes. The caller then runs `consume`.
]]
local window_ms = ARGV[2] + 0
local used = redis.call('INCRBY', KEYS[1], ARGV[3])
-- Only a new counter has one hit, and so no TTL.
local left_ms = used == 1 and -1 or redis.call('PTTL', KEYS[1])
if left_ms <= 0 or left_ms > window_ms or used <= 0 then
  if left_ms == 0 or used <= 0 then
    -- The window ends in this ms, or another program has written a negative count.
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    used = ARGV[3] + 0
  else
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  left_ms = window_ms
end
if used - ARGV[1] > 0 then return { redis.call('DECRBY', KEYS[1], ARGV[3]), left_ms } end
return used * (window_ms + 1) + left_ms
