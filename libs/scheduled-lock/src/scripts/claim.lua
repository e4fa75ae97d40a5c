--[[
claim: give one node the right to run a job: one run at a time, and one for each slot (scheduled time). Only a catch-up repeats a slot.

KEYS[1]  state        hash       <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
KEYS[2]  history      list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history
ARGV[1]  owner        str        token of one run, different for each run
ARGV[2]  node         str        name of the node, without spaces
ARGV[3]  mode         str        tick: a scheduled run | catch-up: repeats the slot of a run that died or was lost | free: a run without a
                                 slot, such as one by hand
ARGV[4]  slot         int        of a tick: scheduled time, ms since 1970; for an interval: 0 for the current period by Redis'
                                 clock, or the slot that the first attempt returned
ARGV[5]  periodMs     int        length of an interval's period, ms; 0 for other jobs
ARGV[6]  staleMs      int        largest difference of the slot from Redis' time, ms; 0 for no limit
ARGV[7]  leaseMs      int        length of the lease, ms; 1 or more
ARGV[8]  retentionMs  int        how long slot and fence are kept after the lease, ms
ARGV[9]  keep         int        number of entries that the history keeps, 1 or more

Fields of the state: slot: the last slot, ticks can only claim newer ones; open: 1 if a catch-up may repeat that slot when the lease has
ended; for the last run: owner, mode, fence (fencing token), since (start), till (end of its lease), done (1 after it has ended).

Returns {status, slot, fence, leftMs}
  status   ran | skipped-held | skipped-slot | stale | nothing
  slot     str  digits; '0' with mode free
  fence    str  digits; '0' unless the status is ran
  leftMs   int  above 0: another run has the lock, but the period goes on for this time, ms, so try again; nothing was stored

O(keep). TTL: state: leaseMs + retentionMs; history: retentionMs. Clock: Redis. Replay: returns the claim of the first call until
another run claims; a refusal gets a second entry in the history.
]]
local seen = redis.call('HMGET', KEYS[1], 'slot', 'open', 'owner', 'fence', 'till')
-- Raises an error before the first write if the key of the history has another type.
redis.call('LLEN', KEYS[2])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)
local last, till = tonumber(seen[1] or '-1'), tonumber(seen[5] or '0')
local mode, slot, period, stale = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if seen[3] == ARGV[1] then return { 'ran', mode == 'free' and '0' or seen[1], seen[4], 0 } end
local refusal, over = false, false
if mode == 'tick' then
  if period > 0 and slot == 0 then slot = now_ms - now_ms % period end
  over = period > 0 and slot ~= now_ms - now_ms % period
  if stale > 0 and math.abs(now_ms - slot) > stale then refusal = 'stale'
  elseif slot <= last then refusal = 'skipped-slot' end
elseif mode == 'catch-up' then
  slot = last
  if last < 0 or seen[2] ~= '1' or till > now_ms or now_ms - last > stale then return { 'nothing', '0', '0', 0 } end
else
  slot = 0
end
if not refusal and (over or till > now_ms) then refusal = 'skipped-held' end
if refusal then
  local left = (refusal == 'skipped-held' and mode == 'tick' and not over and period > 0) and slot + period - now_ms or 0
  if left == 0 then
    redis.call('LPUSH', KEYS[2], string.format('%s %.0f %.0f 0 0 %s', refusal, slot, now_ms, ARGV[2]))
    redis.call('LTRIM', KEYS[2], 0, ARGV[9] - 1)
    redis.call('PEXPIRE', KEYS[2], ARGV[8])
  end
  return { refusal, string.format('%.0f', slot), '0', left }
end
local fence = string.format('%.0f', math.max((seen[4] or 0) + 1, now_us))
local since, ends = string.format('%.0f', now_ms), string.format('%.0f', now_ms + ARGV[7])
if mode == 'free' then
  redis.call('HSET', KEYS[1], 'done', 0, 'owner', ARGV[1], 'mode', mode, 'fence', fence, 'since', since, 'till', ends)
else
  redis.call('HSET', KEYS[1], 'done', 0, 'owner', ARGV[1], 'mode', mode, 'fence', fence, 'since', since, 'till', ends,
    'slot', string.format('%.0f', slot), 'open', 1)
end
redis.call('PEXPIRE', KEYS[1], ARGV[7] + ARGV[8])
return { 'ran', string.format('%.0f', slot), fence, 0 }
