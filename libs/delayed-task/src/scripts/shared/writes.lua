-- Redis does not roll back a script that fails halfway. So scripts check first that the user may run all of these commands.
local WRITES = {
  { 'ZADD', '1', 'm' }, { 'ZREM', 'm' }, { 'ZREMRANGEBYRANK', '0', '0' }, { 'HSET', 'f', 'v' }, { 'HDEL', 'f' }, { 'SET', 'v' },
}
local DENIED = 'NOTALLOWED the Redis user needs permission for ZADD, ZREM, ZREMRANGEBYRANK, HSET, HDEL and SET; nothing was changed'
local permitted = false
local function may_write(key)
  if not permitted then
    permitted = true
    for _, write in ipairs(WRITES) do
      permitted = permitted and redis.acl_check_cmd(write[1], key, unpack(write, 2))
    end
  end
  return permitted
end
