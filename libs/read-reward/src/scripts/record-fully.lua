--[[
record-fully: what `record` does, and further the first answer for an operation id, items that count for ever, and a ledger.

KEYS[1]  items     set     <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state     hash    <prefix>:read-reward:{<shard>}:state:<rule>:<user>
KEYS[3]  ever      set     <prefix>:read-reward:{<shard>}:ever:<rule>:<user>, or the state key when everMs is 0
KEYS[4]  answer    string  <prefix>:read-reward:{<shard>}:answer:<rule>:<user>:<operation>, or the state key when answerMs is 0
KEYS[5]  ledger    stream  <prefix>:read-reward:{<shard>}:ledger, or the state key when ledgerMs is 0
ARGV[1]  itemId    str     1 to 256 characters
ARGV[2]  token     str     names the call: the operation id, or one that no other call has
ARGV[3]  rule      str     as `record` takes it
ARGV[4]  everMs    int >= 0   how long an item counts beyond its period, 0 not at all
ARGV[5]  answerMs  int >= 0   how long the answer is kept for the operation id, 0 without one
ARGV[6]  ledgerMs  int >= 0   how long the ledger is kept after its last row, 0 without one
ARGV[7]  name      str     of the rule, for the ledger
ARGV[8]  userId    str     for the ledger

Returns {status, points, used, remaining, seq, start, resetsAt, itemId}
  status     int   1 rewarded, 2 duplicate, 3 capped, 0 Redis' clock is in none of the three periods
  points     int   granted by this call
  used       int   items that count in the period
  remaining  int   items that it would still reward
  seq        int   number of the grant in the period, 0 without one
  start      int   start of the user's period, ms after the current one's; of `total`, Redis' clock at the first grant
  resetsAt   int   its end, likewise; Redis' clock with status 0
  itemId     str   the item of the answer: an operation's first one

O(1). TTL: items to the end of the period, state one period beyond, ever, answer and ledger their own; set at every grant and
again where it is lost. Clock: Redis. Replay: the first answer, by the operation's
answer while that is kept or, without an operation id, while the grant stands, by the token beside the item.
]]
-- @include clock
-- @include period
local rule, wrong = rule_of(ARGV[3])
if not rule then return wrong end
local ever_ms, answer_ms, ledger_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if math.min(ever_ms, answer_ms, ledger_ms) < 0 then return redis.error_reply('BADRULE a duration is negative, nothing was changed') end
local known, held = redis.call('SISMEMBER', KEYS[1], ARGV[1]), redis.call('SCARD', KEYS[1])
local used = held
local state = redis.call('HMGET', KEYS[2], '', ARGV[1])
local kept = answer_ms > 0 and redis.call('GET', KEYS[4])
if kept then keep_ttl(KEYS[4], now_ms + answer_ms) end
-- The token beside the item lives as long as the grant: of an operation only its own answer counts, which ends in time.
local first = kept and stored_answer(rule, kept) or answer_ms == 0 and first_answer(rule, state[1], state[2], ARGV[2])
if first then first[8] = first[8] or ARGV[1] return first end
if now_ms < rule.b0 or now_ms >= rule.b3 then return { OUTSIDE, 0, 0, 0, 0, 0, now_ms - rule.b1, '' } end
local fresh, from, to, expires, sum, seq, count = period_of(rule, state[1], now_ms)
if fresh then known, used = 0, 0 else known, used = state[2] and 1 or known, math.max(used, count) end
if ever_ms > 0 then
  known = math.max(known, redis.call('SISMEMBER', KEYS[3], ARGV[1]))
  keep_ttl(KEYS[3], now_ms + ever_ms)
end
if ledger_ms > 0 and redis.call('XLEN', KEYS[5]) > 0 then keep_ttl(KEYS[5], now_ms + ledger_ms) end
local room, status, granted, number = room_in(rule, used, sum), known == 1 and DUPLICATE or CAPPED, 0, 0
if known == 0 and room > 0 then
  status, number = REWARDED, seq + 1
  granted = rule.cap > 0 and math.min(rule.each, rule.cap - sum) or rule.each
  used, sum, room = used + 1, sum + granted, room - 1
  if rule.total_ms > 0 then expires = string.format('%.0f', now_ms + rule.total_ms) end
end
permitted = permitted or redis.acl_check_cmd('HSET', KEYS[2], 'f', 'v') and redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
  and redis.acl_check_cmd('SADD', KEYS[1], 'm') and redis.acl_check_cmd('UNLINK', KEYS[1])
if granted > 0 and not permitted or ledger_ms > 0 and not redis.acl_check_cmd('XADD', KEYS[5], '*', 'f', 'v')
  or answer_ms > 0 and not redis.acl_check_cmd('SET', KEYS[4], 'v') then
  return redis.error_reply(DENIED)
end
if granted > 0 then
  if ledger_ms > 0 then
    redis.call('XADD', KEYS[5], '*', 'kind', 'grant', 'rule', ARGV[7], 'user', ARGV[8], 'item', ARGV[1], 'points', granted,
      'start', from, 'seq', number, 'at', string.format('%.0f', now_ms))
    redis.call('PEXPIREAT', KEYS[5], string.format('%.0f', now_ms + ledger_ms))
  end
  if fresh and (state[1] or held > 0) then redis.call('UNLINK', KEYS[1], KEYS[2]) end
  redis.call('HSET', KEYS[2], '', head_of(from, to, expires, sum, number, used), ARGV[1], grant_of(number, granted, used, room, ARGV[2]))
  redis.call('SADD', KEYS[1], ARGV[1])
  if ever_ms > 0 then
    redis.call('SADD', KEYS[3], ARGV[1])
    redis.call('PEXPIREAT', KEYS[3], string.format('%.0f', now_ms + ever_ms))
  end
  redis.call('PEXPIREAT', KEYS[2], expires)
  redis.call('PEXPIREAT', KEYS[1], rule.total_ms > 0 and expires or to)
else
  keep_ttl(KEYS[1], rule.total_ms > 0 and expires or to)
  keep_ttl(KEYS[2], expires)
end
if answer_ms > 0 then
  local answer = table.concat({ status, granted, used, room, number, from, to, ARGV[1] }, ':')
  redis.call('SET', KEYS[4], answer, 'PX', answer_ms)
end
return { status, granted, used, room, number, from - rule.b1, to - rule.b1, ARGV[1] }
