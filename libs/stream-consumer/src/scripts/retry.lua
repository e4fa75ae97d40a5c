--[[
retry: give an entry back, so that any consumer of the group can take it after a delay.

KEYS[1]  stream       stream  <prefix>:stream-consumer:{<stream>.<partition>.<n>}:stream
KEYS[2]  sessions     zset    ...:sessions:<group>
KEYS[3]  due          zset    ...:due:<group>
KEYS[4]  tries        hash    ...:tries:<group>
KEYS[5]  woken        string  ...:woken; readers listen to a channel of the same name
KEYS[6]  unsettled    set     ...:unsettled:<group>
ARGV[1]  group        str
ARGV[2]  session      str     name under which a process holds the entry
ARGV[3]  id           str
ARGV[4]  attempt      int     number of the attempt that ended, from 1
ARGV[5]  returned     int     how often the entry had been given back in attempts that did not count, when the caller took it
ARGV[6]  counted      int     1 if the attempt counts | 0
ARGV[7]  firstSeenMs  int     first delivery, ms since 1970
ARGV[8]  delayMs      int >= 0
ARGV[9]  problem      str     reason for the retry, not empty

Returns {alive}
  alive  1 | 0  0 if the process no longer holds the entries: nothing was changed

O(log due). TTL: the stream's. Clock: Redis. Replay: changes nothing, even if the entry was taken and given back again meanwhile.
]]
-- @include clock
-- @include errors
-- @include tries
-- @include consumers
local till = redis.call('ZSCORE', KEYS[2], ARGV[2])
if not till or till == '0' then return { 0 } end
local first_due = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
local attempts, _, _, returned = parse_tries(redis.call('HGET', KEYS[4], ARGV[3]))
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if failed(held) then return is_gone(held) and { 1 } or held end
-- Only the holder itself gives its entries back while its lease lasts. So if another consumer has the entry, this call has run before.
if not held[1] or held[1][2] ~= ARGV[2] then return { 1 } end
-- Each retry raises `attempts` or `returned`. So if one is higher now, this call has run before, and the caller has taken the entry again.
-- If one is lower, Redis has lost `tries`.
if attempts > ARGV[4] - 1 or returned > tonumber(ARGV[5]) then return { 1 } end
redis.call('SCARD', KEYS[6])
if not redis.call('XCLAIM', KEYS[1], ARGV[1], WAITING, 0, ARGV[3], 'JUSTID')[1] then
  -- The entry was deleted from the stream. XCLAIM has then removed it from the list of pending entries.
  redis.call('HDEL', KEYS[4], ARGV[3])
  redis.call('SREM', KEYS[6], ARGV[3])
  return { 1 }
end
redis.call('HSET', KEYS[4], ARGV[3], format_tries(ARGV[4] - 1 + ARGV[6], ARGV[5] + 1 - ARGV[6], ARGV[7], ARGV[9]))
redis.call('ZADD', KEYS[3], now_ms + ARGV[8], ARGV[3])
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then
  redis.call('PEXPIREAT', KEYS[3], ends)
  redis.call('PEXPIREAT', KEYS[4], ends)
end
-- Sleeping readers wake up by themselves for the first due entry. So they are woken only if this entry is due earlier.
if (not first_due or now_ms + ARGV[8] < tonumber(first_due)) and redis.call('EXISTS', KEYS[5]) == 0 then
  redis.call('SET', KEYS[5], '1', 'PX', 5000)
  redis.pcall('SPUBLISH', KEYS[5], 'retry')
end
return { 1 }
