--[[
purge: delete entries that every group has settled and that still exist, such as entries that only a removed group had not settled.

KEYS[1]  stream  stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2..]  needed  list(set)  ...:unsettled:<group> of each group in `needs`
ARGV[1]  after   str     where to continue, as the last call returned it; '-' to begin
ARGV[2]  count   int 1..200  most entries to look at
ARGV[3]  needs   str     groups without which no entry may be deleted, as in ack

Returns {deleted, after}
  deleted  int  number of entries
  after    str  argument of the next call; '-' at the end

O(count * groups). TTL: none, the groups empty the stream. Clock: not read. Replay: looks at the same entries again.
]]
-- @include errors
-- @include settlers
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if failed(groups) then return is_gone(groups) and { 0, '-' } or groups end
-- Without groups no entry is settled.
local all, deleted = find_settlers(groups, false, ARGV[3], 2), 0
if not all or not all[1] then return { 0, '-' } end
local entries = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
for _, entry in ipairs(entries) do
  for _, group in ipairs(all) do
    -- A group that has not read the entry has not read the entries after it either.
    if comes_after(entry[1], group.read) then return { deleted, '-' } end
  end
  if not is_needed(entry[1], all) then deleted = deleted + redis.call('XDEL', KEYS[1], entry[1]) end
end
return { deleted, #entries == tonumber(ARGV[2]) and '(' .. entries[#entries][1] or '-' }
