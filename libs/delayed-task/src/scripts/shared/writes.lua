-- Commands that scripts of this lib write with. Redis does not roll back a script that fails halfway, so scripts check first that the Redis
-- user may run all of them.
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
