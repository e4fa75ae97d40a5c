-- @include clock
-- Buckets that calls of this group have read. Each is read once: only calls of the group can change it meanwhile.
local gates = {}

local function sum_error()
  return redis.error_reply('BADMETA cents granted and this packet do not fit heldCents, nothing was changed')
end

--[[
Reads a bucket's meta and its cents granted so far. Returns nil and an error, or a table that the calls of the group change:
state, starts, ends, tries  whether it is open, from when to when, and how often a user may try
held, granted, best         cents that may be granted, cents that were, cents of the best packet
luckiest                    a better packet than meta's, as {cents, packet, user}
ahead, at                   packets that were read from the pool's head, and the index of the next one
taken                       packets that were granted and are still in the pool
]]
local function read_gate(fields, granted)
  local gate = { state = fields[1], starts = tonumber(fields[2]), ends = tonumber(fields[3]), tries = tonumber(fields[4]),
    held = tonumber(fields[5]) or 0, best = tonumber(fields[6] or '0'), ahead = {}, at = 0, taken = 0 }
  if gate.state == 'open' then
    if not gate.starts or not gate.ends or not gate.tries or not gate.best then
      return nil, redis.error_reply('BADMETA a number of the activity is missing, nothing was changed')
    end
    if now_ms < gate.starts then gate.state = 'preheated' elseif now_ms >= gate.ends then gate.state = 'ended' end
  end
  if gate.state ~= 'open' then return gate end
  -- Without the grants, users who have won would win again.
  if not granted then return nil, redis.error_reply('LOSTGRANTS the grants are gone, was the key evicted? nothing was changed') end
  -- Digits without leading zeros, at most as many as 2^53 has.
  gate.granted = #granted <= 16 and (granted == '0' or string.find(granted, '^[1-9]%d*$')) and tonumber(granted)
  if not gate.granted then return nil, sum_error() end
  return gate
end

-- Text of the reason why a bucket is not open.
local function describe_state(gate)
  if gate.state ~= 'preheated' then return gate.state or 'unknown' end
  return 'preheated:' .. string.format('%.0f', gate.starts - now_ms)
end

-- Checks the packet at the head of the pool. Returns nil or an error.
local function check_packet(gate, id, cents, head)
  if not id or #head > 60 or #cents > 16 then
    return redis.error_reply('BADPACKET the pool does not start with <packet>:<cents>:<sum>, nothing was changed')
  end
  -- Written so that it is false where heldCents is 'nan'.
  local fits = gate.granted + cents <= gate.held
  return not fits and sum_error() or nil
end

-- Checks, once for each group, that the Redis user may run the commands of a grant. Returns nil or an error.
local function check_permissions(gate, meta, pool, grants, outbox)
  gate.permitted = redis.acl_check_cmd('XADD', outbox, '*', 'f', 'v') and redis.acl_check_cmd('LPOP', pool, '1')
    and redis.acl_check_cmd('HSET', grants, 'f', 'v') and redis.acl_check_cmd('HSET', meta, 'f', 'v')
  if gate.permitted then return nil end
  return redis.error_reply('NOTALLOWED grab needs XADD, LPOP and HSET, nothing was changed')
end
