--[[
consume-fixed-window: charge one rule with a fixed window, by INCRBY and an expiry. Costs less than `consume`.

KEYS[1]  counter   string(int)  <prefix>:rate-limit:{<tag>}:fixed-window:<rule>:<window ms>:<subject>
ARGV[1]  limit     int >= 1, hits a window
ARGV[2]  windowMs  int >= 1, ms
ARGV[3]  cost      int 1 to limit, hits to charge

Returns {used, resetMs}
  used     int  hits in the window, including this request; if the request is refused: -1 - hits without this request
  resetMs  int  ms to the end of the window; 1 to windowMs

O(1). TTL: to the end of the window; a missing or longer TTL is set again. Clock: Redis. Replay: charges once more.
Error, and no write, if INCRBY fails, such as on the text that `block` writes. The caller then runs `consume`.
]]
-- @include clock
-- @include number
local limit = numbers[ARGV[1]] or number(ARGV[1])
local window_ms = numbers[ARGV[2]] or number(ARGV[2])
local cost = numbers[ARGV[3]] or number(ARGV[3])
local used = redis.call('INCRBY', KEYS[1], ARGV[3])
local ends_ms = used > cost and redis.call('PEXPIRETIME', KEYS[1]) or 0
if ends_ms == -1 or ends_ms > now_ms + window_ms then
  ends_ms = now_ms + window_ms
  redis.call('PEXPIREAT', KEYS[1], ends_ms)
elseif ends_ms <= now_ms then
  if used ~= cost then
    redis.call('SET', KEYS[1], ARGV[3])
    used = cost
  end
  ends_ms = now_ms + window_ms
  redis.call('PEXPIREAT', KEYS[1], ends_ms)
end
if used > limit then return -1 - redis.call('DECRBY', KEYS[1], ARGV[3]), ends_ms - now_ms end
return used, ends_ms - now_ms
