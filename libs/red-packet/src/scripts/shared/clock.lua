local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = (now_us - now_us % 1000) / 1000
local now_text = string.format('%.0f', now_ms)
