--[[
replay-range: publish entries of a range again that a group has finished, only for this group. Entries that are meant for one group,
such as those that this script adds, are left out.

KEYS[1]  stream     stream       <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  unsettled  set          ...:unsettled:<group>
KEYS[3]  woken      string       ...:woken; readers listen to a channel of the same name
KEYS[4]  operation  string(str)  ...:operation:<operation>; `<after> <until> <replayed> <more>` of its last call
ARGV[1]  group      str
ARGV[2]  after      str          where to continue, as the last call returned it; the id before the range for the first call
ARGV[3]  until      str          last id of the range; at most the last entry that the group has read at the first call
ARGV[4]  size       int 1..100   maximum number of entries to check
ARGV[5]  limit      int >= 0     maximum number of entries that all calls with this operation id publish
ARGV[6]  retainMs   int >= 1     how long the operation id is remembered after this call, ms

Returns {state, replayed, after}
  state     1: the range may have more entries | 0: the end or the limit is reached | 2: there is no such group, nothing was changed
  replayed  int  number of entries that all calls with this operation id have published
  after     str  argument of the next call

O(size * log pending). TTL: retainMs for `operation`. Clock: not read. Replay: within retainMs, changes nothing, and returns what the last
call with this operation id has returned.
]]
-- @include errors
-- @include ids
-- @include needed
-- @include few-fields
-- Returns the id of the last entry that the group has read. If there is no such group, returns nil and an error.
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
-- The same call, or a later one with this operation id, has run before.
if after and (more == '0' or comes_after(after, ARGV[2])) then return { tonumber(more), tonumber(replayed), after } end
redis.call('SCARD', KEYS[2])
local read, problem = find_read()
if not read then return problem or { 2, 0, ARGV[2] } end
last = last or (comes_after(ARGV[3], read) and read or ARGV[3])
after, replayed = ARGV[2], tonumber(replayed or '0')
local entries, limit, before = redis.call('XRANGE', KEYS[1], '(' .. after, last, 'COUNT', ARGV[4]), tonumber(ARGV[5]), replayed
-- If XGROUP SETID has moved the group back since the first call, the range has unread entries. The group gets these anyway, so they are
-- left out.
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
