--[[
refund: take the points of a grant back, once, while its period runs. The period then has room for the item again.

KEYS[1]  state     hash    <prefix>:read-reward:{<partition>}:state:<rule>:<user>
KEYS[2]  ever      set     <prefix>:read-reward:{<partition>}:ever:<rule>:<user>
KEYS[3]  receipt   string  <prefix>:read-reward:{<partition>}:receipt:<rule>:<user>:<start>:<seq>
KEYS[4]  ledger    stream  <prefix>:read-reward:{<partition>}:ledger
ARGV[1]  itemId    str     item of the grant
ARGV[2]  start     int     start of the period of the grant, ms since 1970
ARGV[3]  seq       int     number of the grant in its period
ARGV[4]  token     str     id of the call, to detect a replay
ARGV[5]  answerMs  int >= 1  how long the receipt of the refund is kept, ms
ARGV[6]  everMs    int >= 0  how long items count after the last grant, also in later periods, ms; 0: only in their period
ARGV[7]  ledgerMs  int >= 0  how long the ledger is kept after its last entry, ms; 0 without a ledger
ARGV[8]  name      str     name of the rule, for the ledger
ARGV[9]  userId    str     id of the user, for the ledger

Returns {status, points, used}
  status  str   refunded | already-refunded | expired: the period is over, or Redis has forgotten it | unknown: the period has no such
                grant, or it was refunded and the receipt has expired
  points  int   points that were taken back; 0 unless refunded
  used    int   number of items that count in the period; 0 if expired or unknown

O(1). TTL: receipt: answerMs; ledger: ledgerMs; a TTL that is missing is set. Clock: Redis. Replay: the first result, from the
receipt.
]]
-- @include clock
-- @include grants
local answer_ms, ever_ms, ledger_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if answer_ms < 1 or ever_ms < 0 or ledger_ms < 0 then
  return redis.error_reply('BADRULE answerMs is below 1, or everMs or ledgerMs is negative; nothing was changed')
end
local points, used, token = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+):(%d+):(.*)$')
local state = redis.call('HMGET', KEYS[1], '', ARGV[1])
local from, to, expires, each, extra, seq, refunds =
  string.match(state[1] or '', '^(%d+):(%d+):(%d+):(%d+):(-?%d+):(%d+):(%d+)$')
local count = from and seq - refunds or 0
redis.call('SISMEMBER', KEYS[2], ARGV[1])
if ledger_ms > 0 then redis.call('XLEN', KEYS[4]) end
keep_ttl(KEYS[1], expires or now_ms + answer_ms)
keep_ttl(KEYS[2], now_ms + math.max(ever_ms, answer_ms))
keep_ttl(KEYS[3], now_ms + answer_ms)
if ledger_ms > 0 then keep_ttl(KEYS[4], now_ms + ledger_ms) end
if token == ARGV[4] then return { 'refunded', tonumber(points), tonumber(used) } end
if not from or tonumber(from) > tonumber(ARGV[2]) then return { 'expired', 0, 0 } end
if tonumber(from) < tonumber(ARGV[2]) or tonumber(ARGV[3]) > tonumber(seq) then return { 'unknown', 0, 0 } end
local number, granted = string.match(state[2] or '', '^(%d+):%d+:(%d+):')
-- Each grant has a new number. So if the state lacks a grant with this number, it was refunded, or lost in a failover.
if number ~= ARGV[3] then return { token and 'already-refunded' or 'unknown', 0, token and count or 0 } end
if now_ms >= tonumber(to) then return { 'expired', 0, 0 } end
permitted = permitted or redis.acl_check_cmd('SREM', KEYS[2], 'm') and redis.acl_check_cmd('HDEL', KEYS[1], 'f')
  and redis.acl_check_cmd('HSET', KEYS[1], 'f', 'v') and redis.acl_check_cmd('SET', KEYS[3], 'v')
if not permitted or ledger_ms > 0 and not (redis.acl_check_cmd('XADD', KEYS[4], '*', 'f', 'v')
  and redis.acl_check_cmd('PEXPIREAT', KEYS[4], 1)) then
  return redis.error_reply(DENIED)
end
used = count - 1
local sum = extra + each * count
if ledger_ms > 0 then
  redis.call('XADD', KEYS[4], '*', 'kind', 'refund', 'rule', ARGV[8], 'user', ARGV[9], 'item', ARGV[1], 'points', granted,
    'start', ARGV[2], 'seq', ARGV[3], 'at', string.format('%.0f', now_ms))
  redis.call('PEXPIREAT', KEYS[4], string.format('%.0f', now_ms + ledger_ms))
end
redis.call('SET', KEYS[3], granted .. ':' .. used .. ':' .. ARGV[4], 'PX', answer_ms)
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], '', format_head(each, from, to, expires, sum - granted, tonumber(seq), refunds + 1))
redis.call('SREM', KEYS[2], ARGV[1])
return { 'refunded', tonumber(granted), used }
