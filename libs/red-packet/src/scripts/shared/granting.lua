-- By key, whether this group has found that it may write there.
local permitted = {}

local function forbidden(meta, pool, grants, outbox)
  if redis.acl_check_cmd('XADD', outbox, '*', 'f', 'v') and redis.acl_check_cmd('LPOP', pool)
    and redis.acl_check_cmd('HSET', grants, 'f', 'v') and redis.acl_check_cmd('HSET', meta, 'f', 'v')
    and redis.acl_check_cmd('HINCRBY', meta, 'f', 1) then return nil end
  return redis.error_reply('NOTALLOWED grab needs XADD, LPOP, HSET and HINCRBY, nothing was changed')
end

-- HINCRBY takes no leading zeros, and no number of more than 16 digits is one of cents.
local function problem_with(granted, held, cents)
  if granted and #granted <= 16 and (granted == '0' or string.find(granted, '^[1-9]%d*$'))
    and granted + cents <= (tonumber(held) or 0) then return nil end
  return redis.error_reply('BADMETA grantedCents and this packet do not fit heldCents, nothing was changed')
end
