--[[
refund: take a grant back, once: its item and its points have room again in a period that still runs.

KEYS[1]  items     set     <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state     hash    <prefix>:read-reward:{<shard>}:state:<rule>:<user>
KEYS[3]  ever      set     <prefix>:read-reward:{<shard>}:ever:<rule>:<user>
KEYS[4]  receipt   string  <prefix>:read-reward:{<shard>}:receipt:<rule>:<user>:<start>:<seq>
KEYS[5]  ledger    stream  <prefix>:read-reward:{<shard>}:ledger
ARGV[1]  itemId    str     the item of the grant
ARGV[2]  start     int     the period of the grant, ms since 1970
ARGV[3]  seq       int     its number there
ARGV[4]  token     str     names the call; no other call has it
ARGV[5]  answerMs  int >= 1  how long the receipt is kept
ARGV[6]  ledgerMs  int >= 0  how long the ledger is kept after its last row, 0 without one
ARGV[7]  rule      str     for the ledger
ARGV[8]  userId    str     for the ledger

Returns {status, points, used}
  status  str   refunded | already-refunded | expired: its period has ended | unknown: there is no such grant
  points  int   given back, 0 unless refunded
  used    int   items that count in the period, 0 when expired or unknown

O(1). TTL: receipt and ledger their own, the others untouched. Clock: Redis. Replay: the first answer, by the receipt.
]]
local answer_ms, ledger_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
if answer_ms < 1 or ledger_ms < 0 then
  return redis.error_reply('BADRULE a duration is negative or zero, nothing was changed')
end
local points, used, token = string.match(redis.call('GET', KEYS[4]) or '', '^(%d+):(%d+):(.*)$')
if token == ARGV[4] then return { 'refunded', tonumber(points), tonumber(used) } end
local state = redis.call('HMGET', KEYS[2], 'start', 'end', 'points', 'seq', 'i:' .. ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not state[1] or tonumber(state[1]) > tonumber(ARGV[2]) then return { 'expired', 0, 0 } end
if tonumber(state[1]) < tonumber(ARGV[2]) or tonumber(ARGV[3]) > tonumber(state[4]) then return { 'unknown', 0, 0 } end
used = redis.call('SCARD', KEYS[1])
local number, granted = string.match(state[5] or '', '^(%d+):(%d+):')
-- Numbers are given out once: a grant of this period that is not there was given back.
if number ~= ARGV[3] then return { token and 'already-refunded' or 'unknown', 0, token and used or 0 } end
if now >= tonumber(state[2]) then return { 'expired', 0, 0 } end
redis.call('SISMEMBER', KEYS[3], ARGV[1])
if ledger_ms > 0 then redis.call('XLEN', KEYS[5]) end
used = used - redis.call('SREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], 'i:' .. ARGV[1])
redis.call('HINCRBY', KEYS[2], 'points', -tonumber(granted))
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('SET', KEYS[4], granted .. ':' .. used .. ':' .. ARGV[4], 'PX', answer_ms)
if ledger_ms > 0 then
  redis.call('XADD', KEYS[5], '*', 'kind', 'refund', 'rule', ARGV[7], 'user', ARGV[8], 'item', ARGV[1], 'points', granted,
    'start', ARGV[2], 'seq', ARGV[3], 'at', string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[5], ledger_ms)
end
return { 'refunded', tonumber(granted), used }
