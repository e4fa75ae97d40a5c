--[[
ack: acknowledge entries that were handled, and delete those that no group of the stream needs any more.

KEYS[1]  stream    stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset    ...:sessions:<group>
KEYS[3]  tries     hash    ...:tries:<group>
KEYS[4]  unsettled set     ...:unsettled:<group>
KEYS[5..]  needed  list(set)  ...:unsettled:<group> of each group in `needs`: the entries that it has not finished
ARGV[1]  group     str
ARGV[2]  session   str     name under which a process holds the entries
ARGV[3]  needs     str     names of the stream's groups, separated by spaces. While one of these groups is missing on this
                           partition, no entry is deleted. '*': no entry is deleted. '-': the caller has deleted the entries itself.
                           Entries that still exist were brought back by a failover, so they are not acknowledged
ARGV[4..]  ids     list(str)  entries that were handled

Returns {alive}
  alive  1 | 0  0 if the process no longer holds the entries: nothing was changed

O(ids * groups). TTL: none, the group owns its keys. Clock: not read. Replay: harmless, because the entries are acknowledged already.
]]
-- @include errors
-- @include settlers
local till = redis.call('ZSCORE', KEYS[2], ARGV[2])
if not till or till == '0' then return { 0 } end
redis.call('HLEN', KEYS[3])
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if failed(groups) then return is_gone(groups) and { 1 } or groups end
local deleted, ids, settled = ARGV[3] == '-', {}, {}
local others = not deleted and find_settlers(groups, ARGV[1], ARGV[3], 5)
for i = 4, #ARGV do
  if not deleted or not redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1] then ids[#ids + 1] = ARGV[i] end
end
if not ids[1] then return { 1 } end
redis.call('SREM', KEYS[4], unpack(ids))
redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
redis.call('HDEL', KEYS[3], unpack(ids))
if not others then return { 1 } end
for _, id in ipairs(ids) do
  if not is_needed(id, others) then settled[#settled + 1] = id end
end
if settled[1] then redis.call('XDEL', KEYS[1], unpack(settled)) end
return { 1 }
