--[[
record-fully: as `record`, with the first answer for an operation id, items that count for ever, and a ledger.

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
answer while that is kept or, without an operation id, while the grant stands, by the token next to the item.
]]
-- @include clock
-- @include grants
local ever_ms, answer_ms, ledger_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

-- The answer that the operation id got before, or this very call.
local function find_first_answer(rule, state)
  local kept = answer_ms > 0 and redis.call('GET', KEYS[4])
  if kept then
    keep_ttl(KEYS[4], now_ms + answer_ms)
    local status, points, used, room, number, from, to, item =
      string.match(kept, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
    return { tonumber(status), tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1, item }
  end
  -- The token next to the item lives as long as the grant: of an operation only its own answer counts, which ends in time.
  local first = answer_ms == 0 and first_answer(rule, state[1], state[2], ARGV[2])
  if first then first[8] = ARGV[1] end
  return first
end

-- 1 if an item counts, for ever or in this period, else 0.
local function find_item(member, grant, is_new)
  local known = is_new and 0 or grant and 1 or member
  if ever_ms == 0 then return known end
  known = math.max(known, redis.call('SISMEMBER', KEYS[3], ARGV[1]))
  keep_ttl(KEYS[3], now_ms + ever_ms)
  return known
end

local function may_write(grants)
  permitted = permitted or redis.acl_check_cmd('HSET', KEYS[2], 'f', 'v') and redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
    and redis.acl_check_cmd('SADD', KEYS[1], 'm') and redis.acl_check_cmd('UNLINK', KEYS[1])
  return (permitted or not grants) and (ledger_ms == 0 or redis.acl_check_cmd('XADD', KEYS[5], '*', 'f', 'v'))
    and (answer_ms == 0 or redis.acl_check_cmd('SET', KEYS[4], 'v'))
end

local function write_ledger(points, from, number)
  if ledger_ms == 0 then return end
  redis.call('XADD', KEYS[5], '*', 'kind', 'grant', 'rule', ARGV[7], 'user', ARGV[8], 'item', ARGV[1], 'points', points,
    'start', from, 'seq', number, 'at', string.format('%.0f', now_ms))
  redis.call('PEXPIREAT', KEYS[5], string.format('%.0f', now_ms + ledger_ms))
end

local function write_ever()
  if ever_ms == 0 then return end
  redis.call('SADD', KEYS[3], ARGV[1])
  redis.call('PEXPIREAT', KEYS[3], string.format('%.0f', now_ms + ever_ms))
end

local rule, wrong = parse_rule(ARGV[3])
if not rule then return wrong end
if math.min(ever_ms, answer_ms, ledger_ms) < 0 then return redis.error_reply('BADRULE a duration is negative, nothing was changed') end
local member, held = redis.call('SISMEMBER', KEYS[1], ARGV[1]), redis.call('SCARD', KEYS[1])
local state = redis.call('HMGET', KEYS[2], '', ARGV[1])
local first = find_first_answer(rule, state)
if first then return first end
if now_ms < rule.b0 or now_ms >= rule.b3 then return { OUTSIDE, 0, 0, 0, 0, 0, now_ms - rule.b1, '' } end
local is_new, from, to, expires, sum, seq, count = find_period(rule, state[1], now_ms)
local known, used = find_item(member, state[2], is_new), is_new and 0 or math.max(held, count)
if ledger_ms > 0 and redis.call('XLEN', KEYS[5]) > 0 then keep_ttl(KEYS[5], now_ms + ledger_ms) end
local room, status, points, number = count_room(rule, used, sum), known == 1 and DUPLICATE or CAPPED, 0, 0
local grants = known == 0 and room > 0
if not may_write(grants) then return redis.error_reply(DENIED) end
if grants then
  status, number, points, expires = REWARDED, seq + 1, next_points(rule, sum), expiry_after(rule, expires)
  used, sum, room = used + 1, sum + points, room - 1
  write_ledger(points, from, number)
  if is_new and (state[1] or held > 0) then redis.call('UNLINK', KEYS[1], KEYS[2]) end
  local head, grant = format_head(from, to, expires, sum, number, used), format_grant(number, points, used, room, ARGV[2])
  redis.call('HSET', KEYS[2], '', head, ARGV[1], grant)
  redis.call('SADD', KEYS[1], ARGV[1])
  write_ever()
  redis.call('PEXPIREAT', KEYS[2], expires)
  redis.call('PEXPIREAT', KEYS[1], rule.total_ms > 0 and expires or to)
else
  keep_ttl(KEYS[1], rule.total_ms > 0 and expires or to)
  keep_ttl(KEYS[2], expires)
end
if answer_ms > 0 then
  local answer = table.concat({ status, points, used, room, number, from, to, ARGV[1] }, ':')
  redis.call('SET', KEYS[4], answer, 'PX', answer_ms)
end
return { status, points, used, room, number, from - rule.b1, to - rule.b1, ARGV[1] }
