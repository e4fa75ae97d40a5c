--[[
find-message: read an entry, and what a group has done with it.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  due       zset    ...:due:<group>
KEYS[4]  tries     hash    ...:tries:<group>
KEYS[5]  dead      stream  ...:dead:<group>
ARGV[1]  group     str
ARGV[2]  id        str     id of an entry, or of a dead letter
ARGV[3]  most      int     maximum number of dead letters to search for the entry

Returns {now, state, consumer, leaseMs, dueMs, deliveries, attempts, problem, dead, fields}
  now         int  ms since 1970
  state       'unread' | 'held' by a process | 'waiting' for a retry or a consumer | 'parked': waits for an earlier entry of its key |
              'settled': handled, and still in the stream | 'dead': dead letter | '': neither the stream nor the dead letters have it
  consumer    str  name under which a process holds it, or 'waiting'; the key of a parked entry; '' otherwise
  leaseMs     int  ms at which the lease of that process ends; 0 without a lease
  dueMs       int  ms at which the next attempt is due; 0 if none is planned
  deliveries  int  how often Redis has delivered it
  attempts    int  number of attempts that have ended
  problem     str  error of the last attempt; '' without an error
  dead        str  id of its dead letter; '' without a dead letter
  fields      str  names and values of the entry, or of the entry from which the dead letter was made

O(log entries + most). TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include errors
-- @include tries
-- @include ids
-- @include consumers
local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]

-- Returns the dead letter with this id, or the dead letter of the entry with this id. The latter was added after the entry, so the search
-- begins at the time of the entry.
local function find_dead()
  local dead = redis.call('XRANGE', KEYS[5], ARGV[2], ARGV[2])[1]
  if dead then return dead end
  for _, row in ipairs(redis.call('XRANGE', KEYS[5], ARGV[2], '+', 'COUNT', ARGV[3])) do
    if row[2][2] == ARGV[2] then return row end
  end
end

local function reply_of(state, consumer, deliveries, dead, fields)
  local attempts, _, problem = parse_tries(redis.call('HGET', KEYS[4], ARGV[2]) or nil)
  if dead then attempts, problem = tonumber(dead[2][6]) or 0, dead[2][4] end
  local lease = tonumber(redis.call('ZSCORE', KEYS[2], consumer) or 0)
  local due = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]) or 0)
  local reply = { now_ms, state, consumer, lease, due, deliveries, attempts, problem, dead and dead[1] or '' }
  for i = dead and 9 or 1, #fields do reply[#reply + 1] = fields[i] end
  return reply
end

-- Returns true if the group has read the entry already.
local function is_read()
  local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
  for _, row in ipairs(failed(groups) and {} or groups) do
    local group = {}
    for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
    if group['name'] == ARGV[1] then return not comes_after(ARGV[2], group['last-delivered-id']) end
  end
  return false
end

local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
held = not failed(held) and held[1]
if entry and held then
  local key = parked_key(held[2])
  return reply_of(key and 'parked' or held[2] == WAITING and 'waiting' or 'held', key or held[2], held[4], nil, entry[2])
end
local dead = find_dead()
if dead then return reply_of('dead', '', 0, dead, dead[2]) end
if not entry then return reply_of('', '', 0, nil, {}) end
return reply_of(is_read() and 'settled' or 'unread', '', 0, nil, entry[2])
