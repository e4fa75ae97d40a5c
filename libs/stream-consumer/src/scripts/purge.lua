--[[
purge: delete the oldest entries that every group has finished (handled or dead-lettered), and that exceed one of the given limits
`count`, `bytes` and `ageMs`.

KEYS[1]  stream  stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2..]  needed  list(set)  ...:unsettled:<group> of each group in `needs`
ARGV[1]  after   str     where to continue, as the last call returned it; '-' for the first call
ARGV[2]  passed  int     number of older entries that a group needs, as the last call returned it; 0 for the first call
ARGV[3]  size    int 1..200  maximum number of entries to check
ARGV[4]  needs   str     names of the stream's groups, as in the script ack
ARGV[5]  count   int     number of the newest entries that are kept; 0 to keep none, -1 for no limit
ARGV[6]  bytes   int     memory of the stream, as MEMORY USAGE estimates it, within which entries are kept; -1 for no limit
ARGV[7]  ageMs   int     age within which entries are kept, by the time in their ids; -1 for no limit

Returns {deleted, after, passed}
  deleted  int  number of deleted entries
  after    str  argument of the next call; '-' at the end
  passed   int  argument of the next call

O(size * groups). TTL: none, the groups empty the stream. Clock: Redis. Replay: checks the same entries again.
]]
-- @include errors
-- @include settlers
-- @include needed
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if failed(groups) then return is_gone(groups) and { 0, '-', 0 } or groups end
-- Without groups, no entry counts as finished.
local all = find_settlers(groups, false, ARGV[4], 2)
if not all or not all[1] then return { 0, '-', 0 } end

-- Returns how many entries, from `after` on, exceed the limits `count` and `bytes`.
local function count_excess()
  local count, bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
  if count == 0 then return math.huge end
  local length = redis.call('XLEN', KEYS[1])
  local excess = count < 0 and 0 or length - ARGV[2] - count
  if bytes < 0 then return excess end
  -- MEMORY USAGE estimates from samples: nodes of the stream, most with 100 entries or 4 KB.
  local used = redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 1000)
  return math.max(excess, math.ceil((used - bytes) / used * length))
end

local function is_unread(id)
  for _, group in ipairs(all) do
    if comes_after(id, group.read) then return true end
  end
  return false
end

-- Returns the time of the oldest entry that `ageMs` keeps; 0 without this limit.
local function find_kept_from_ms()
  if tonumber(ARGV[7]) < 0 then return 0 end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[7]
end

-- Returns the entries that all groups have read and that exceed a limit. `entries` begin with the oldest.
local function find_old(entries)
  local excess, kept_from_ms, old = count_excess(), find_kept_from_ms(), {}
  for i, entry in ipairs(entries) do
    -- All later entries are newer, so they are kept or unread as well, and the search ends here.
    local is_kept = i > excess and tonumber(string.match(entry[1], '^%d+')) >= kept_from_ms
    if is_kept or is_unread(entry[1]) then return old end
    old[i] = entry
  end
  return old
end

local entries = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[3])
local old, settled = find_old(entries), {}
local needed = find_needed(old, all)
for _, entry in ipairs(old) do
  if not needed[entry[1]] then settled[#settled + 1] = entry[1] end
end
if settled[1] then redis.call('XDEL', KEYS[1], unpack(settled)) end
local is_end = #old < tonumber(ARGV[3])
if is_end then return { #settled, '-', 0 } end
return { #settled, '(' .. old[#old][1], ARGV[2] + #old - #settled }
