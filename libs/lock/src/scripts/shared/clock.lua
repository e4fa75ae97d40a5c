local time = redis.call('TIME')
-- Fences are Redis' time in microseconds: so they rise when the key is gone; by the last one, when the clock goes back.
local now_us = time[1] * 1000000 + time[2]
local now_ms = (now_us - now_us % 1000) / 1000
