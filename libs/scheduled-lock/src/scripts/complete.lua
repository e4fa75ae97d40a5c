--[[
complete: end the lease of a run, and add its result to the history.

KEYS[1]  state        hash       <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
KEYS[2]  history      list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history
ARGV[1]  owner        str        token of the run
ARGV[2]  node         str        name of the node, without spaces
ARGV[3]  status       str        ran | failed | lost | redis-error. lost: a catch-up may repeat the slot. redis-error: the run never began,
                                 so its slot can be claimed again in the same mode, and the history is not changed
ARGV[4]  durationMs   int        how long the job ran, ms
ARGV[5]  atLeastMs    int        how long the lock is kept after its claim, ms; 0 to free it now
ARGV[6]  retentionMs  int        how long slot and fence are kept, ms
ARGV[7]  keep         int        number of entries that the history keeps, 1 or more
ARGV[8]  slot         int        slot of the run, for the history
ARGV[9]  fence        int        fence of the run, for the history

Returns released
  released  1 | 0  0 if the lease had ended before, or another owner has the lock

O(keep). TTL: state: atLeastMs + retentionMs; history: retentionMs. Clock: Redis. Replay: returns the same until another run claims;
after that, or if the lease had ended, adds one more entry with lost.
]]
local seen = redis.call('HMGET', KEYS[1], 'owner', 'till', 'done', 'since', 'mode')
-- Raises an error before the first write if the key of the history has another type.
redis.call('LLEN', KEYS[2])
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = seen[1] == ARGV[1]
if mine and seen[3] ~= '0' then return 1 end
local held = mine and tonumber(seen[2]) > now_ms
local unused = ARGV[3] == 'redis-error'
local outcome, mode = held and ARGV[3] or 'lost', seen[5]
if held then
  local till = (unused or outcome == 'lost') and 0 or math.max(0, seen[4] + ARGV[5])
  -- Decides if the slot of this run is finished. A run in mode free has no slot. The slot of a catch-up stays open if the run never began.
  local closes = mode == 'tick' or (mode == 'catch-up' and not unused)
  if unused and mode == 'tick' then redis.call('HINCRBY', KEYS[1], 'slot', -1) end
  if closes and outcome ~= 'lost' then
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
