-- Redis does not roll back. Scripts check first that the user may run all of these commands, so that no script stops halfway.
local WRITES = {
  { 'ZADD', '1', 'm' }, { 'ZREM', 'm' }, { 'ZREMRANGEBYRANK', '0', '0' }, { 'HSET', 'f', 'v' }, { 'HDEL', 'f' }, { 'SET', 'v' },
}
local DENIED = 'NOTALLOWED ZADD, ZREM, ZREMRANGEBYRANK, HSET, HDEL and SET are needed, nothing was changed'
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
