--[[
complete: give the lease of a run up, and note how it went.

KEYS[1]  state        hash       <prefix>:scheduled-lock:{<namespace>:<job>}:state[:<key>]
KEYS[2]  history      list(str)  <prefix>:scheduled-lock:{<namespace>:<job>}:history
ARGV[1]  owner        str        token of the run
ARGV[2]  node         str        who ran it, without spaces
ARGV[3]  outcome      str        ran | failed | lost; lost leaves the slot open for a catch-up
                                 redis-error: it never ran, so the slot is given back, and nothing is noted
ARGV[4]  durationMs   int        how long it ran
ARGV[5]  atLeastMs    int        how long the lock is kept from its claim on; 0 for none
ARGV[6]  retentionMs  int        how long slot and fence are kept
ARGV[7]  keep         int        entries of the history, 1 or more
ARGV[8]  slot         int        of the run
ARGV[9]  fence        int        of the run

Returns released
  released  1 | 0  0 when the lease was over before, or another's

O(keep). TTL: the retention. Clock: Redis. Replay: answers the same; a lost run may be noted twice.
]]
local seen = redis.call('HMGET', KEYS[1], 'owner', 'till', 'done', 'since')
redis.call('LLEN', KEYS[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = seen[1] == ARGV[1]
if mine and seen[3] ~= '0' then return 1 end
local held = mine and tonumber(seen[2]) > now
local unused = ARGV[3] == 'redis-error'
local outcome = held and ARGV[3] or 'lost'
if held then
  local done, till = '1', math.max(0, seen[4] + ARGV[5])
  if outcome == 'lost' then done, till = '0', 0 end
  if unused then redis.call('HINCRBY', KEYS[1], 'slot', -1) end
  redis.call('HSET', KEYS[1], 'done', done, 'till', string.format('%.0f', unused and 0 or till))
  redis.call('PEXPIRE', KEYS[1], ARGV[5] + ARGV[6])
end
if unused then return held and 1 or 0 end
redis.call('LPUSH', KEYS[2], string.format('%s %s %.0f %s %s %s', outcome, ARGV[8], now, ARGV[4], ARGV[9], ARGV[2]))
redis.call('LTRIM', KEYS[2], 0, ARGV[7] - 1)
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return held and 1 or 0
