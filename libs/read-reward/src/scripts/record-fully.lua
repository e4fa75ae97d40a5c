--[[
record-fully: grant points for an item as the script record does, but for every rule and period. Also keeps the first result of an
operation id, the items that count in later periods (`dedupe: 'ever'`), and a ledger of grants.

KEYS[1]  state     hash    <prefix>:read-reward:{<partition>}:state:<rule>:<user>
KEYS[2]  ever      set     <prefix>:read-reward:{<partition>}:ever:<rule>:<user>, or the state key if everMs is 0
KEYS[3]  answer    string  <prefix>:read-reward:{<partition>}:answer:<rule>:<user>:<operation>, or the state key if answerMs is 0
KEYS[4]  ledger    stream  <prefix>:read-reward:{<partition>}:ledger, or the state key if ledgerMs is 0
ARGV[1]  itemId    str     1 to 256 characters
ARGV[2]  token     str     id of the call: the operation id, or an id that no other call has
ARGV[3]  rule      str     nine integers joined by colons: limit of items, points of an item, limit of points or 0, how long `total`
                           keeps a user (ms) or 0, starts of five periods from the previous one on (ms since 1970)
ARGV[4]  everMs    int >= 0   how long items count after the last grant, also in later periods, ms; 0: only in their period
ARGV[5]  answerMs  int >= 0   how long the first result is kept, ms; 0 without an operation id
ARGV[6]  ledgerMs  int >= 0   how long the ledger is kept after its last entry, ms; 0 without a ledger
ARGV[7]  name      str     name of the rule, for the ledger
ARGV[8]  userId    str     id of the user, for the ledger

Returns {status, points, used, remaining, seq, start, resetsAt, itemId}
  status     int   1 rewarded, 2 duplicate, 3 capped, 0 Redis' clock is in none of the previous, current and next period
  points     int   points that this call has granted
  used       int   number of items that count in the period
  remaining  int   number of items that the period still rewards
  seq        int   number of the grant in the period; 0 if nothing was granted
  start      int   start of the user's period, ms after the start of the current period; for `total`, time of the first grant
  resetsAt   int   end of the user's period, ms after the start of the current period; with status 0 Redis' clock
  itemId     str   item of the result; for a repeated operation id, the item of its first call

O(1). TTL: state: until the end of the next period, or for `total` the time in `rule`; ever: everMs; ledger: ledgerMs; a grant sets
these three. answer: answerMs; the first call with the operation id sets it. Other calls only set missing TTLs.
Clock: Redis. Replay: with an operation id the first result while it is kept; otherwise the first result while the grant exists,
found by the token next to the item.
]]
-- @include clock
-- @include grants
local ever_ms, answer_ms, ledger_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

-- Returns the first result of this operation id, or of this call if it was sent before; nil or false if there is none.
local function find_first_answer(rule, state)
  local kept = answer_ms > 0 and redis.call('GET', KEYS[3])
  if kept then
    keep_ttl(KEYS[3], now_ms + answer_ms)
    local status, points, used, room, number, from, to, item =
      string.match(kept, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
    return { tonumber(status), tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1, item }
  end
  -- When answerMs is over, an operation id counts as a new call. But the token is stored as long as the grant, perhaps longer. So the token
  -- is used only for calls without an operation id.
  local first = answer_ms == 0 and first_answer(rule, state[1], state[2], ARGV[2])
  if first then first[8] = ARGV[1] end
  return first
end

-- Returns 1 if the item was counted before: in this period, or in an earlier one that the rule still remembers. Otherwise returns 0.
local function find_item(grant, is_new)
  local known = grant and not is_new and 1 or 0
  if ever_ms == 0 then return known end
  known = math.max(known, redis.call('SISMEMBER', KEYS[2], ARGV[1]))
  keep_ttl(KEYS[2], now_ms + ever_ms)
  return known
end

local function may_write(grants)
  if not grants and answer_ms == 0 and ledger_ms == 0 then return true end
  permitted = permitted or redis.acl_check_cmd('HSET', KEYS[1], 'f', 'v') and redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
    and redis.acl_check_cmd('UNLINK', KEYS[1])
  return (not grants or permitted and (ever_ms == 0 or redis.acl_check_cmd('SADD', KEYS[2], 'm')))
    and (ledger_ms == 0 or redis.acl_check_cmd('XADD', KEYS[4], '*', 'f', 'v'))
    and (answer_ms == 0 or redis.acl_check_cmd('SET', KEYS[3], 'v'))
end

local function write_ledger(points, from, number)
  if ledger_ms == 0 then return end
  redis.call('XADD', KEYS[4], '*', 'kind', 'grant', 'rule', ARGV[7], 'user', ARGV[8], 'item', ARGV[1], 'points', points,
    'start', from, 'seq', number, 'at', string.format('%.0f', now_ms))
  redis.call('PEXPIREAT', KEYS[4], string.format('%.0f', now_ms + ledger_ms))
end

local function write_ever()
  if ever_ms == 0 then return end
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', now_ms + ever_ms))
end

local rule, wrong = parse_rule(ARGV[3])
if not rule then return wrong end
if math.min(ever_ms, answer_ms, ledger_ms) < 0 then
  return redis.error_reply('BADRULE everMs, answerMs or ledgerMs is negative; nothing was changed')
end
local state = redis.call('HMGET', KEYS[1], '', ARGV[1])
local first = find_first_answer(rule, state)
if first then return first end
if now_ms < rule.b0 or now_ms >= rule.b3 then return { OUTSIDE, 0, 0, 0, 0, 0, now_ms - rule.b1, '' } end
local is_new, from, to, expires, sum, seq, refunds = find_period(rule, state[1], now_ms)
local known, used = find_item(state[2], is_new), seq - refunds
if ledger_ms > 0 and redis.call('XLEN', KEYS[4]) > 0 then keep_ttl(KEYS[4], now_ms + ledger_ms) end
local room, status, points, number = count_room(rule, used, sum), known == 1 and DUPLICATE or CAPPED, 0, 0
local grants = known == 0 and room > 0
if not may_write(grants) then return redis.error_reply(DENIED) end
if grants then
  status, number, points, expires = REWARDED, seq + 1, next_points(rule, sum), expiry_after(rule, expires)
  used, sum, room = used + 1, sum + points, room - 1
  write_ledger(points, from, number)
  if is_new and state[1] then redis.call('UNLINK', KEYS[1]) end
  local head = format_head(rule.each, from, to, expires, sum, number, refunds)
  redis.call('HSET', KEYS[1], '', head, ARGV[1], format_grant(number, points, refunds, room, ARGV[2]))
  write_ever()
  redis.call('PEXPIREAT', KEYS[1], expires)
else
  keep_ttl(KEYS[1], expires)
end
if answer_ms > 0 then
  local answer = table.concat({ status, points, used, room, number, from, to, ARGV[1] }, ':')
  redis.call('SET', KEYS[3], answer, 'PX', answer_ms)
end
return { status, points, used, room, number, from - rule.b1, to - rule.b1, ARGV[1] }
