--[[
take: lease tasks that are due to a worker, those of dead workers first, up to some MiB of them; bury those that have no
attempt left.

KEYS[1]  due     zset    <prefix>:delayed-task:{<partition>}:due
KEYS[2]  leased  zset    <prefix>:delayed-task:{<partition>}:leased
KEYS[3]  tasks   hash    <prefix>:delayed-task:{<partition>}:tasks
KEYS[4]  runs    hash    <prefix>:delayed-task:{<partition>}:runs
KEYS[5]  dead    zset    <prefix>:delayed-task:{<partition>}:dead
KEYS[6]  waits   string  <prefix>:delayed-task:{<partition>}:waits
KEYS[7]  taken   string  <prefix>:delayed-task:{<partition>}:taken:<worker>   last token, and the ids it took
ARGV[1]  token    str         of this take; the lease of each task carries it
ARGV[2]  limit    int 1..256  most tasks
ARGV[3]  leaseMs  int         how long they are leased
ARGV[4]  markMs   int         how long a mark of who waits lasts

Returns {now, nextAt, buried, id, record, attempt, runAt, ..., deadId, name, last, ...}
  now      int  ms
  nextAt   int  ms when there will be something to take; 0 when nothing is in sight
  buried   int  tasks whose worker died in their last attempt
  id       str
  record   str
  attempt  int  1 for the first
  runAt    int  ms when this attempt was due
  deadId   str  of a task that was buried
  name     str  its name
  last     int  its last attempt

O(limit log n). TTL: the lease's for what is taken, markMs for the mark. Clock: Redis. Replay: the same tasks, as far as
they are still leased under the token, and the same buried ones.
]]
local limit, ends, buried, ids, out = tonumber(ARGV[2]), now + ARGV[3], {}, {}, { now, 0, 0 }
if not may_write(KEYS[1]) then return redis.error_reply(DENIED) end
local last = redis.call('GET', KEYS[7])
redis.call('ZCARD', KEYS[5])
local replayed = last and string.sub(last, 1, #ARGV[1] + 1) == ARGV[1] .. '\n'
local stale = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, limit)
local ready = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit - #stale)
local from, all = #stale, stale
for i = 1, #ready, 2 do all[#all + 1] = ready[i] end
if replayed then
  all, from = {}, 0
  for id in string.gmatch(string.sub(last, #ARGV[1] + 2), '[^\n]+') do all[#all + 1] = id end
end
local records = #all > 0 and redis.call('HMGET', KEYS[3], unpack(all)) or {}
-- The rest is for the next take.
for i = #all, fitting(records, #all) + 1, -1 do all[i] = nil end
local runs = #all > 0 and redis.call('HMGET', KEYS[4], unpack(all)) or {}
local leases, texts, gone, named = {}, {}, {}, {}
for i, id in ipairs(all) do
  local run, record = runs[i] and run_of(runs[i]) or NEW_RUN, records[i]
  local attempt = replayed and run.attempt or run.attempt + 1
  -- What was handed back has been due since it first was.
  local runs_at = i > from and not replayed and run.state ~= 'b' and tonumber(ready[2 * (i - from)]) or run.due
  local ours = record and (not replayed or (run.state == 'l' and run.token == ARGV[1]))
  if record and (replayed and run.state == 'd' and run.problem == LEASE_ENDED) then
    note_buried(buried, id, record, run)
  elseif not ours then
    if not replayed then gone[#gone + 1] = id end
  elseif i <= from and attempt > tonumber(string.match(record, '^%d+') or 0) then
    named[#named + 1] = id
    note_buried(buried, id, record, run)
    redis.call('ZREM', KEYS[2], id)
    redis.call('ZADD', KEYS[5], now, id)
    local failed = run.failed > 0 and run.failed or now
    redis.call('HSET', KEYS[4], id, run_text(run.attempt, 'd', run.token, run.due, failed, 0, LEASE_ENDED))
  else
    local n = #ids + 1
    ids[n], leases[2 * n - 1], leases[2 * n], texts[2 * n - 1] = id, ends, id, id
    texts[2 * n] = runs[i] and run_text(attempt, 'l', ARGV[1], runs_at, run.failed, run.unknown, run.problem)
      or '1 l ' .. ARGV[1] .. ' ' .. (ready[2 * (i - from)] or string.format('%.0f', runs_at)) .. ' 0 0 '
    out[4 * n], out[4 * n + 1], out[4 * n + 2], out[4 * n + 3] = id, record, attempt, runs_at
  end
end
if #all > from and not replayed then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #all - from - 1) end
if #gone > 0 then redis.call('ZREM', KEYS[2], unpack(gone)) redis.call('HDEL', KEYS[4], unpack(gone)) end
if #ids > 0 and not replayed then
  redis.call('ZADD', KEYS[2], unpack(leases))
  redis.call('HSET', KEYS[4], unpack(texts))
end
if #ids + #named > 0 and not replayed then
  local noted = table.concat(ids, '\n') .. '\n' .. table.concat(named, '\n')
  redis.call('SET', KEYS[7], ARGV[1] .. '\n' .. noted, 'PX', ARGV[3])
end
local head, lease = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES'), redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local next_at = math.min(tonumber(head[2]) or NEVER, tonumber(lease[2]) or NEVER)
if #ids < limit then redis.call('SET', KEYS[6], next_at, 'PX', ARGV[4]) end
out[2], out[3] = next_at == NEVER and 0 or next_at, #buried / 3
for _, field in ipairs(buried) do out[#out + 1] = field end
return out
