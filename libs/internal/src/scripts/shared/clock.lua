-- The clock of Redis. Calls that run together in one EVALSHA share one reading. `time` holds the seconds and the microseconds as text.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = (now_us - now_us % 1000) / 1000
