--[[
complete: give the lease of a run up, and note how it went.

KEYS[1]  state        hash       <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
KEYS[2]  history      list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history
ARGV[1]  owner        str        token of the run
ARGV[2]  node         str        who ran it, without spaces
ARGV[3]  outcome      str        ran | failed | lost; lost leaves the slot open for a catch-up, and so does a run that
                                 was claimed in mode free, which has no slot;
                                 redis-error: it never ran, so the slot is given back, and nothing is noted
ARGV[4]  durationMs   int        how long it ran
ARGV[5]  atLeastMs    int        how long the lock is kept from its claim on; 0 for none
ARGV[6]  retentionMs  int        how long slot and fence are kept
ARGV[7]  keep         int        entries of the history, 1 or more
ARGV[8]  slot         int        of the run
ARGV[9]  fence        int        of the run

Returns released
  released  1 | 0  0 when the lease was over before, or another owner has the lock

O(keep). TTL: the retention. Clock: Redis. Replay: returns the same; a run whose lease was over is noted twice as lost.
]]
local seen = redis.call('HMGET', KEYS[1], 'owner', 'till', 'done', 'since', 'mode')
redis.call('LLEN', KEYS[2])
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = seen[1] == ARGV[1]
if mine and seen[3] ~= '0' then return 1 end
local held = mine and tonumber(seen[2]) > now_ms
local unused = ARGV[3] == 'redis-error'
local outcome = held and ARGV[3] or 'lost'
if held then
  local has_slot = seen[5] ~= 'free'
  local till = (unused or outcome == 'lost') and 0 or math.max(0, seen[4] + ARGV[5])
  if unused and has_slot then redis.call('HINCRBY', KEYS[1], 'slot', -1) end
  if has_slot and outcome ~= 'lost' then
    redis.call('HSET', KEYS[1], 'done', 1, 'till', string.format('%.0f', till), 'open', 0)
  else
    redis.call('HSET', KEYS[1], 'done', 1, 'till', string.format('%.0f', till))
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[5] + ARGV[6])
end
if unused then return held and 1 or 0 end
redis.call('LPUSH', KEYS[2], string.format('%s %s %.0f %s %s %s', outcome, ARGV[8], now_ms, ARGV[4], ARGV[9], ARGV[2]))
redis.call('LTRIM', KEYS[2], 0, ARGV[7] - 1)
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return held and 1 or 0
