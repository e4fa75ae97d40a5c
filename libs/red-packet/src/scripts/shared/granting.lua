-- What the calls of a group have in common is read once: nothing but they themselves can change it meanwhile.
local gates, heads = {}, {}

local function forbidden(meta, pool, grants, outbox)
  if redis.acl_check_cmd('XADD', outbox, '*', 'f', 'v') and redis.acl_check_cmd('LPOP', pool)
    and redis.acl_check_cmd('HSET', grants, 'f', 'v') and redis.acl_check_cmd('HSET', meta, 'f', 'v') then return nil end
  return redis.error_reply('NOTALLOWED grab needs XADD, LPOP and HSET, nothing was changed')
end

-- A gate: whether the activity is open, until when, how many tries, the cents that may be granted, the best packet so far.
local function gate_of(fields)
  local gate = { state = fields[1], starts = tonumber(fields[2]), ends = tonumber(fields[3]), tries = tonumber(fields[4]),
    held = tonumber(fields[5]) or 0, best = tonumber(fields[6] or '0') }
  if gate.state == 'open' then
    if not gate.starts or not gate.ends or not gate.tries then
      return nil, redis.error_reply('BADMETA the figures of the activity are gone, nothing was changed')
    end
    if now_ms < gate.starts then gate.state = 'preheated' elseif now_ms >= gate.ends then gate.state = 'ended' end
  end
  return gate
end

-- Cents granted so far, from text that HSET shall replace: no leading zeros, no more digits than cents have.
local function granted_with(text, cents, held)
  local granted = #text <= 16 and (text == '0' or string.find(text, '^[1-9]%d*$')) and text + cents
  if granted and granted <= held then return granted end
  return nil, redis.error_reply('BADMETA cents granted and this packet do not fit heldCents, nothing was changed')
end
