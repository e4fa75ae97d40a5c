-- @include clock
-- Buckets (shards of activities) that grabs in this EVALSHA have read, by the key of their meta hash. Each bucket is read only once: no
-- other client can change it during the EVALSHA.
local gates = {}

local function sum_error()
  return redis.error_reply('BADMETA the counters of cents of this activity (its meta hash) are damaged; nothing was changed. Run audit()')
end

--[[
Makes the table of a bucket from fields of its meta hash and the cents granted so far, '<cents>:<ms of the last grant>'. Returns nil
and an error if they are invalid. The calls of the group change this table:
state, starts, ends, tries  state now, when grabs begin and end, and how often a user may grab without a packet
held, granted, best         cents that the bucket may grant in all, cents granted so far, cents of the largest packet so far
activity                    text that payout rows of the bucket have
luckiest                    {cents, packet, user} of a packet of this group that is larger than all before; else nil
ahead, at                   packets that were read from the head of the pool, and the index of the next packet to grant
taken                       packets that were granted and are still in the pool
]]
local function read_gate(fields, granted)
  local gate = { state = fields[1], starts = tonumber(fields[2]), ends = tonumber(fields[3]), tries = tonumber(fields[4]),
    held = tonumber(fields[5]) or 0, best = tonumber(fields[6] or '0'), activity = fields[7], ahead = {}, at = 0, taken = 0 }
  if gate.state == 'open' then
    if not gate.starts or not gate.ends or not gate.tries or not gate.best or not gate.activity then
      return nil, redis.error_reply(
        'BADMETA the meta hash of the activity is damaged: a field is missing or not a number; nothing was changed')
    end
    if now_ms < gate.starts then gate.state = 'preheated' elseif now_ms >= gate.ends then gate.state = 'ended' end
  end
  if gate.state ~= 'open' then return gate end
  -- If Redis has lost the grants, it is unknown who has won, so nobody may win.
  if not granted then
    return nil, redis.error_reply('LOSTGRANTS Redis has lost the winners of this activity, perhaps by eviction; nothing was changed')
  end
  -- The granted cents must have at most 16 digits, as many as 2^53, without leading zeros.
  local sum = string.match(granted, '^(%d+):%d+$')
  gate.granted = sum and #sum <= 16 and (#sum == 1 or string.byte(sum) ~= 48) and tonumber(sum)
  if not gate.granted then return nil, sum_error() end
  return gate
end

-- Returns the state of a bucket that is not open, in the form in which the script grab returns it.
local function describe_state(gate)
  if gate.state ~= 'preheated' then return gate.state or 'unknown' end
  return 'preheated:' .. string.format('%.0f', gate.starts - now_ms)
end

-- Checks the next packet before it is granted. Returns nil, or an error.
local function check_packet(gate, id, cents, head)
  if not id or #head > 60 or #cents > 16 then
    return redis.error_reply('BADPACKET the list of packets is damaged: its first entry is not <packet>:<cents>:<sum>; nothing was changed')
  end
  -- A damaged heldCents of 'nan' makes the comparison false, so the packet is refused.
  local fits = gate.granted + cents <= gate.held
  return not fits and sum_error() or nil
end

-- Checks that the Redis user may run the commands of a grant, once per bucket. Returns nil, or an error if the user may not.
local function check_permissions(gate, meta, pool, grants, outbox)
  gate.permitted = redis.acl_check_cmd('XADD', outbox, '*', 'f', 'v') and redis.acl_check_cmd('LPOP', pool, '1')
    and redis.acl_check_cmd('HSET', grants, 'f', 'v') and redis.acl_check_cmd('HSET', meta, 'f', 'v')
  if gate.permitted then return nil end
  return redis.error_reply('NOTALLOWED the Redis user needs permission for XADD, LPOP and HSET to grab; nothing was changed')
end
