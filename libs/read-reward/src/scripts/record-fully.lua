--[[
record-fully: do what `record` does, and keep the first result of an operation id, items that count in later periods, a ledger.

KEYS[1]  items     set     <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]  state     hash    <prefix>:read-reward:{<shard>}:state:<rule>:<user>
KEYS[3]  ever      set     <prefix>:read-reward:{<shard>}:ever:<rule>:<user>, or the state key when everMs is 0
KEYS[4]  answer    string  <prefix>:read-reward:{<shard>}:answer:<rule>:<user>:<operation>, or the state key when answerMs is 0
KEYS[5]  ledger    stream  <prefix>:read-reward:{<shard>}:ledger, or the state key when ledgerMs is 0
ARGV[1]  itemId    str     1 to 256 characters
ARGV[2]  token     str     id of the call: the operation id, or an id that no other call has
ARGV[3]  rule      str     the same as in `record`
ARGV[4]  everMs    int >= 0   how long items count after the last grant, also in later periods; 0: only in their period
ARGV[5]  answerMs  int >= 0   how long the first result is kept; 0 without an operation id
ARGV[6]  ledgerMs  int >= 0   how long the ledger is kept after its last entry; 0 without a ledger
ARGV[7]  name      str     name of the rule, for the ledger
ARGV[8]  userId    str     id of the user, for the ledger

Returns {status, points, used, remaining, seq, start, resetsAt, itemId}
  status     int   1 rewarded, 2 duplicate, 3 capped, 0 Redis' clock is in none of the previous, current and next period
  points     int   points granted by this call
  used       int   items that count in the period
  remaining  int   items that the period still rewards
  seq        int   number of the grant in the period; 0 without a grant
  start      int   start of the user's period, ms after the start of the current period; for `total`, time of the first grant
  resetsAt   int   end of the user's period, ms after the start of the current period; with status 0 Redis' clock
  itemId     str   item of the result; a repeated operation id returns the item of its first call

O(1). TTL: items: end of the period; state: end of the next period; ever, answer, ledger: everMs, answerMs, ledgerMs. For
`total`, items and state: the time in `rule`. A grant sets them. The first call with an operation id sets that of answer. Other
calls that are not replays set a TTL that is missing. Clock: Redis. Replay:
with an operation id the first result while it is kept; otherwise the first result while the grant exists, found by the
token next to the item.
]]
-- @include clock
-- @include grants
local ever_ms, answer_ms, ledger_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

-- Returns the first result of this operation id, or of this call if it was sent before; nil or false without one.
local function find_first_answer(rule, state)
  local kept = answer_ms > 0 and redis.call('GET', KEYS[4])
  if kept then
    keep_ttl(KEYS[4], now_ms + answer_ms)
    local status, points, used, room, number, from, to, item =
      string.match(kept, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
    return { tonumber(status), tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1, item }
  end
  -- A token is kept while its grant exists, which may be longer than answerMs. So only calls without an operation id use it.
  local first = answer_ms == 0 and first_answer(rule, state[1], state[2], ARGV[2])
  if first then first[8] = ARGV[1] end
  return first
end

-- Returns 1 if the item counts, in this period or because it was granted in an earlier one, else 0.
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
if math.min(ever_ms, answer_ms, ledger_ms) < 0 then
  return redis.error_reply('BADRULE everMs, answerMs or ledgerMs is negative, nothing was changed')
end
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
