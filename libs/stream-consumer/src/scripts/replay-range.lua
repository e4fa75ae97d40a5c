--[[
replay-range: publish entries of a range again that a group has settled, only for this group. Entries for one group, such as those
that this script adds, are left out.

KEYS[1]  stream     stream       <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  unsettled  set          ...:unsettled:<group>
KEYS[3]  woken      string       ...:woken; also the name of the sharded channel
KEYS[4]  operation  string(str)  ...:operation:<operation>; `<after> <until> <replayed> <more>` of the last call of the operation
ARGV[1]  group      str
ARGV[2]  after      str          the range continues after this id, as the last call returned it; the id before the range to begin
ARGV[3]  until      str          last id of the range. The first call ends it with the last entry that the group has read
ARGV[4]  size       int 1..100   most entries to look at
ARGV[5]  limit      int >= 0     most entries that all calls of the operation publish
ARGV[6]  retainMs   int >= 1     how long the operation is remembered after this call

Returns {state, replayed, after}
  state     1 the range may have more entries | 0 the range or the limit is reached | 2 there is no such group, nothing was changed
  replayed  int  entries that all calls of the operation have published
  after     str  argument of the next call

O(size * log pending). TTL: the operation's. Clock: not read. Replay: within retainMs, changes nothing and returns what the last
call of the operation has returned.
]]
-- @include errors
-- @include ids
-- @include needed
-- @include few-fields
-- Returns the id of the last entry that the group has read; nil if there is no such group, and an error.
local function find_read()
  local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
  if failed(groups) then return nil, not is_gone(groups) and groups end
  for _, row in ipairs(groups) do
    local group = {}
    for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
    if group['name'] == ARGV[1] then return group['last-delivered-id'] end
  end
end

local function is_for_one_group(raw)
  for i = 1, #raw, 2 do
    if raw[i] == FOR_GROUP then return true end
  end
  return false
end

local function publish(raw)
  local row = { FOR_GROUP, ARGV[1] }
  for _, text in ipairs(few_fields(raw)) do row[#row + 1] = text end
  redis.call('XADD', KEYS[1], '*', unpack(row))
end

local after, last, replayed, more = string.match(redis.call('GET', KEYS[4]) or '', '^(%S+) (%S+) (%d+) (%d)$')
-- The same call, or a later one, was here before.
if after and (more == '0' or comes_after(after, ARGV[2])) then return { tonumber(more), tonumber(replayed), after } end
redis.call('SCARD', KEYS[2])
local read, problem = find_read()
if not read then return problem or { 2, 0, ARGV[2] } end
last = last or (comes_after(ARGV[3], read) and read or ARGV[3])
after, replayed = ARGV[2], tonumber(replayed or '0')
local entries, limit, before = redis.call('XRANGE', KEYS[1], '(' .. after, last, 'COUNT', ARGV[4]), tonumber(ARGV[5]), replayed
-- A group that was moved back, by XGROUP SETID, gets these entries anyway.
while entries[1] and comes_after(entries[#entries][1], read) do entries[#entries] = nil end
local needed = find_needed(entries, { { name = ARGV[1], unsettled = KEYS[2] } })
for _, entry in ipairs(entries) do
  if replayed >= limit then break end
  after = entry[1]
  if not needed[after] and not is_for_one_group(entry[2]) then
    publish(entry[2])
    replayed = replayed + 1
  end
end
local is_more = #entries == tonumber(ARGV[4]) and replayed < limit
redis.call('SET', KEYS[4], string.format('%s %s %.0f %d', after, last, replayed, is_more and 1 or 0), 'PX', ARGV[6])
if replayed > before and redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('SET', KEYS[3], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[3], 'replayed')
end
return { is_more and 1 or 0, replayed, after }
