-- @include clock
-- What the calls of a group have in common is read once: only these calls can change it meanwhile.
local gates = {}

local function sum_error()
  return redis.error_reply('BADMETA cents granted and this packet do not fit heldCents, nothing was changed')
end

--[[
A bucket's meta and its cents granted so far, and what the calls of a group have done with them:
state, starts, ends, tries  whether it is open, from when to when, and how often a user may try
held, granted, best         cents that may be granted, cents that were, cents of the best packet
luckiest                    a better packet than meta's, as {cents, packet, user}
ahead, at                   packets that were read from the pool's head, and which of them is next
taken                       packets that were granted and are still in the pool
Or nil and an error.
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
  -- Without the grants, those who have won already would win again.
  if not granted then return nil, redis.error_reply('LOSTGRANTS the grants are gone, was the key evicted? nothing was changed') end
  -- Text that HSET shall replace: no leading zeros, no more digits than cents have.
  gate.granted = #granted <= 16 and (granted == '0' or string.find(granted, '^[1-9]%d*$')) and tonumber(granted)
  if not gate.granted then return nil, sum_error() end
  return gate
end

-- Why a bucket is not open, for the user.
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

-- Checks, once a group, that the user may run what a grant writes. Returns nil or an error.
local function check_permissions(gate, meta, pool, grants, outbox)
  gate.permitted = redis.acl_check_cmd('XADD', outbox, '*', 'f', 'v') and redis.acl_check_cmd('LPOP', pool, '1')
    and redis.acl_check_cmd('HSET', grants, 'f', 'v') and redis.acl_check_cmd('HSET', meta, 'f', 'v')
  if gate.permitted then return nil end
  return redis.error_reply('NOTALLOWED grab needs XADD, LPOP and HSET, nothing was changed')
end
