--[[
check-permissions: list the commands that scripts of red-packet need and that the Redis user may not run on KEYS[1].

KEYS[1]  sample  any   <prefix>:red-packet:{permission-check}:meta   never written

Returns {command, ...}
  command  str   name of a command that the user may not run; the list is empty if the user may run all

O(1). TTL: writes nothing. Clock: none. Replay: checks again.
]]
local missing = {}
local function need(...)
  if not redis.acl_check_cmd(...) then missing[#missing + 1] = (...) end
end
need('TIME')
need('HGET', KEYS[1], 'f')
need('HMGET', KEYS[1], 'f')
need('HLEN', KEYS[1])
need('HKEYS', KEYS[1])
need('HDEL', KEYS[1], 'f')
need('HSCAN', KEYS[1], '0')
need('HSET', KEYS[1], 'f', 'v')
need('HEXISTS', KEYS[1], 'f')
need('HINCRBY', KEYS[1], 'f', '1')
need('EXISTS', KEYS[1])
need('LLEN', KEYS[1])
need('LINDEX', KEYS[1], '0')
need('LPOP', KEYS[1])
need('LRANGE', KEYS[1], '0', '1')
need('LREM', KEYS[1], '1', 'v')
need('LTRIM', KEYS[1], '0', '1')
need('RENAME', KEYS[1], KEYS[1])
need('RPUSH', KEYS[1], 'v')
need('PTTL', KEYS[1])
need('PEXPIREAT', KEYS[1], '1')
need('PERSIST', KEYS[1])
need('XLEN', KEYS[1])
need('XRANGE', KEYS[1], '-', '+')
need('XREVRANGE', KEYS[1], '+', '-')
need('XDEL', KEYS[1], '1-1')
need('XADD', KEYS[1], '*', 'f', 'v')
need('XGROUP', 'CREATE', KEYS[1], 'g', '0')
need('ZADD', KEYS[1], '1', 'm')
need('ZCARD', KEYS[1])
need('ZRANGE', KEYS[1], '0', '-1')
need('ZSCORE', KEYS[1], 'm')
need('ZREM', KEYS[1], 'm')
need('GET', KEYS[1])
need('SET', KEYS[1], 'v')
return missing
