--[[
finish: acknowledge entries as the script ack does. Entries with an error also become dead letters, if the stream still has them. The next
entries of their keys can then be taken.

KEYS[1]  stream    stream   <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions  zset     ...:sessions:<group>
KEYS[3]  due       zset     ...:due:<group>
KEYS[4]  tries     hash     ...:tries:<group>
KEYS[5]  dead      stream   ...:dead:<group>
KEYS[6]  heads     hash     ...:heads:<group>; for each key of messages, the entry that may be handled now (its head)
KEYS[7]  unsettled set      ...:unsettled:<group>
KEYS[8..]  needed  list(set)  ...:unsettled:<group> of each group in `needs`
ARGV[1]  group     str
ARGV[2]  session   str      name under which a process holds the entries
ARGV[3]  needs     str      names of the stream's groups, as in the script ack
ARGV[4..]  rows    list(str)  id, key, error, attempts, first delivery (ms); an empty error means that the message was handled

Returns {alive, released, buried}
  alive     1 | 0  0 if the process no longer holds the entries: nothing was changed
  released  int    number of entries that waited for an earlier entry of their key, and can be taken now
  buried    int    number of dead letters that this call added

O(rows * (groups + log pending)). TTL: the stream's. Clock: Redis. Replay: harmless, because the entries are acknowledged
already; buried is 0.
]]
-- @include clock
-- @include errors
-- @include settlers
-- @include consumers
-- @include few-fields
local till = redis.call('ZSCORE', KEYS[2], ARGV[2])
if not till or till == '0' then return { 0, 0, 0 } end
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('XLEN', KEYS[5])
redis.call('HLEN', KEYS[6])
redis.call('SCARD', KEYS[7])
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if failed(groups) then return is_gone(groups) and { 1, 0, 0 } or groups end
local others, released, buried = find_settlers(groups, ARGV[1], ARGV[3], 8), 0, 0
-- Makes the next entry of a key available, after the earlier one was finished. Returns its id; nil if no entry of the key waits; false if
-- all entries that were checked had been deleted from the stream.
local function promote(key)
  for _ = 1, MAX_GONE do
    local rows = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 2, parking_name(key))
    if not rows[1] then return nil end
    -- For an entry that was deleted from the stream, XCLAIM returns nothing, and removes it from the list of pending entries.
    local claimed = redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, rows[1][1], 'JUSTID')
    if not rows[2] then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], parking_name(key)) end
    if claimed[1] then
      redis.call('HSET', KEYS[6], key, claimed[1])
      redis.call('ZADD', KEYS[3], now_ms, claimed[1])
      return claimed[1]
    end
  end
  return false
end
local function release(key, id)
  if key == '' or redis.call('HGET', KEYS[6], key) ~= id then return end
  local next_head = promote(key)
  if next_head then released = released + 1 end
  if next_head == nil then redis.call('HDEL', KEYS[6], key) end
end
local function bury(id, problem, attempts, first)
  local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
  if not entry then return end
  local row = { 'original-id', id, 'error', problem, 'attempts', attempts, 'first-seen-ms', first }
  for _, text in ipairs(few_fields(entry[2])) do row[#row + 1] = text end
  redis.call('XADD', KEYS[5], '*', unpack(row))
  buried = buried + 1
  local ends = redis.call('PEXPIRETIME', KEYS[1])
  if ends > 0 then redis.call('PEXPIREAT', KEYS[5], ends) end
end
for i = 4, #ARGV, 5 do
  -- XACK returns 0 if another client has removed the entry from the list of pending entries. Then SREM shows that it was unfinished.
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) + redis.call('SREM', KEYS[7], ARGV[i]) > 0 then
    if ARGV[i + 2] ~= '' then bury(ARGV[i], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]) end
    redis.call('HDEL', KEYS[4], ARGV[i])
    if others and not is_needed(ARGV[i], others) then redis.call('XDEL', KEYS[1], ARGV[i]) end
  end
  -- The next entry of the key must be released even if this one was deleted meanwhile, or the key would wait forever.
  release(ARGV[i + 1], ARGV[i])
end
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then redis.call('PEXPIREAT', KEYS[3], ends) end
return { 1, released, buried }
