--[[
record: count an item that a user read, once, and grant its points, while the period has room.

KEYS[1]   items     set        <prefix>:read-reward:{<shard>}:items:<rule>:<user>
KEYS[2]   state     hash       <prefix>:read-reward:{<shard>}:state:<rule>:<user>
KEYS[3]   ever      set        <prefix>:read-reward:{<shard>}:ever:<rule>:<user>, or the state key when everMs is 0
KEYS[4]   answer    string     <prefix>:read-reward:{<shard>}:answer:<rule>:<user>:<operation>, or the state key when answerMs is 0
KEYS[5]   ledger    stream     <prefix>:read-reward:{<shard>}:ledger, or the state key when ledgerMs is 0
ARGV[1]   itemId    str        1 to 256 characters
ARGV[2]   token     str        names the call: the operation id, or one that no other call has
ARGV[3]   limit     int >= 0   items that a period rewards
ARGV[4]   points    int >= 1   points of an item
ARGV[5]   cap       int >= 0   points that a period gives; 0 none
ARGV[6]   totalMs   int >= 0   how long a rule of period `total` keeps a user after the last grant, 0 for other periods
ARGV[7]   everMs    int >= 0   how long an item counts beyond its period, 0 not at all
ARGV[8]   answerMs  int >= 0   how long the answer is kept for the operation id, 0 without one
ARGV[9]   ledgerMs  int >= 0   how long the ledger is kept after its last row, 0 without one
ARGV[10]  b0        int        start of the previous period, ms since 1970
ARGV[11]  b1        int        start of the current period
ARGV[12]  b2        int        start of the next period
ARGV[13]  b3        int        end of the next period
ARGV[14]  b4        int        end of the period after that
ARGV[15]  rule      str        for the ledger
ARGV[16]  userId    str        for the ledger

Returns {status, points, used, remaining, resetsAt, start, seq, itemId}
  status     str   rewarded | duplicate | capped | outside: Redis' clock, in resetsAt, is in none of the three periods
  points     int   granted by this call
  used       int   items that count in the period
  remaining  int   items that it would still reward
  resetsAt   int   end of the user's period, ms since 1970
  start      int   its start
  seq        int   number of the grant in the period, 0 without one
  itemId     str   the item that was granted

O(1), and O(limit) once a period to free the items of the last. TTL: items and state one period beyond theirs, set at every
grant; ever, answer and ledger their own. Clock: Redis. Replay: the first answer, by the token in the grant or the answer.
]]
local limit, each, cap = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local total_ms, ever_ms, answer_ms, ledger_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local b0, b1, b2, b3, b4 = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
if math.min(limit, each - 1, cap, total_ms, ever_ms, answer_ms, ledger_ms) < 0 or not (b0 < b1 and b1 < b2 and b2 < b3 and b3 < b4) then
  return redis.error_reply('BADRULE a figure of the rule is negative or its periods are out of order, nothing was changed')
end
local first = answer_ms > 0 and redis.call('GET', KEYS[4])
if first then
  local s, p, u, r, e, b, n, item = string.match(first, '^(%l+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
  return { s, tonumber(p), tonumber(u), tonumber(r), tonumber(e), tonumber(b), tonumber(n), item }
end
local state = redis.call('HMGET', KEYS[2], 'start', 'end', 'points', 'seq', 'expires', 'i:' .. ARGV[1])
local from, to, expires = tonumber(state[1] or ''), tonumber(state[2] or ''), tonumber(state[5] or '')
if state[6] then
  local n, p, u, r, e, token = string.match(state[6], '^(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
  if token == ARGV[2] then return { 'rewarded', tonumber(p), tonumber(u), tonumber(r), tonumber(e), from, tonumber(n), ARGV[1] } end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < b0 or now >= b3 then return { 'outside', 0, 0, 0, now, 0, 0, '' } end
local known, used = redis.call('SISMEMBER', KEYS[1], ARGV[1]), redis.call('SCARD', KEYS[1])
local sum, seq, fresh = tonumber(state[3] or '0'), tonumber(state[4] or '0'), not to or now >= to
if fresh then
  local last, after = to or 0, b3
  from, to = b1, b2
  if now < b1 then from, to, after = b0, b1, b2 elseif now >= b2 then from, to, after = b2, b3, b4 end
  known, used, sum, seq, expires = 0, 0, 0, 0, after
  -- The user's calendar changed and would cut this period short: it begins at once and ends with the first whole one.
  if last > from then from, to, expires = last, after, 2 * after - to end
end
if ever_ms > 0 and known == 0 then known = redis.call('SISMEMBER', KEYS[3], ARGV[1]) end
local room = math.max(0, math.min(limit - used, cap > 0 and math.ceil((cap - sum) / each) or limit))
local status, granted, number = known == 0 and 'capped' or 'duplicate', 0, 0
if known == 0 and room > 0 then
  status, granted, number = 'rewarded', cap > 0 and math.min(each, cap - sum) or each, seq + 1
  used, sum, room = used + 1, sum + granted, room - 1
end
if ledger_ms > 0 then redis.call('XLEN', KEYS[5]) end
if status == 'rewarded' then
  if fresh then redis.call('DEL', KEYS[1], KEYS[2]) end
  local start, over = string.format('%.0f', from), string.format('%.0f', total_ms > 0 and now + total_ms or expires)
  redis.call('HSET', KEYS[2], 'start', start, 'end', string.format('%.0f', to), 'points', sum, 'seq', number, 'expires', over,
    'i:' .. ARGV[1], string.format('%d:%d:%d:%d:%.0f:', number, granted, used, room, to) .. ARGV[2])
  redis.call('PEXPIREAT', KEYS[2], over)
  redis.call('SADD', KEYS[1], ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], over)
  if ever_ms > 0 then redis.call('SADD', KEYS[3], ARGV[1]) redis.call('PEXPIRE', KEYS[3], ever_ms) end
  if ledger_ms > 0 then
    redis.call('XADD', KEYS[5], '*', 'kind', 'grant', 'rule', ARGV[15], 'user', ARGV[16], 'item', ARGV[1], 'points', granted,
      'start', start, 'seq', number, 'at', string.format('%.0f', now))
    redis.call('PEXPIRE', KEYS[5], ledger_ms)
  end
end
if answer_ms > 0 then
  local answer = string.format('%s:%d:%d:%d:%.0f:%.0f:%d:', status, granted, used, room, to, from, number)
  redis.call('SET', KEYS[4], answer .. ARGV[1], 'PX', answer_ms)
end
return { status, granted, used, room, to, from, number, ARGV[1] }
