--[[
fill-pool: append one chunk of packets to a draft's pool, if the pool is exactly as long as the chunk expects.

KEYS[1]    meta     hash         <prefix>:red-packet:{<activity>}:meta
KEYS[2]    pool     list(str)    <prefix>:red-packet:{<activity>}:pool
ARGV[1]    offset   int >= 0     length that the pool must have
ARGV[2..]  chunk    list(str)    1 to 1,000 packets, '<packetId>:<cents>:<sum>', sum: cents of all packets so far

Returns {status, length}
  status  'filled' | 'elsewhere' | 'closed'   elsewhere: the pool has another length; closed: no draft is there
  length  int   packets in the pool after this call

O(chunk). TTL: the activity's. Clock: none. Replay: the length no longer fits, so nothing is appended twice.
]]
local meta = redis.call('HMGET', KEYS[1], 'state', 'packets', 'totalCents', 'filledCents', 'expiresAtMs')
local length = redis.call('LLEN', KEYS[2])
if meta[1] ~= 'draft' then return { 'closed', length } end
if length ~= tonumber(ARGV[1]) then return { 'elsewhere', length } end
local count = #ARGV - 1
if count < 1 or count > 1000 then return redis.error_reply('BADCHUNK a chunk holds 1 to 1,000 packets') end
local filled = tonumber(meta[4])
for i = 2, #ARGV do
  local cents, sum = string.match(ARGV[i], '^%d+:(%d+):(%d+)$')
  if not cents or tonumber(cents) < 1 then
    return redis.error_reply('BADPACKET a packet must be <packetId>:<cents>:<sum>, nothing was appended')
  end
  filled = filled + cents
  if filled ~= tonumber(sum) then return redis.error_reply('BADPACKET a sum is wrong, nothing was appended') end
end
if length + count > tonumber(meta[2]) or filled > tonumber(meta[3]) then
  return redis.error_reply('BADCHUNK the chunk would overfill the activity, nothing was appended')
end
redis.call('RPUSH', KEYS[2], unpack(ARGV, 2))
redis.call('PEXPIREAT', KEYS[2], meta[5])
redis.call('HSET', KEYS[1], 'filledCents', string.format('%.0f', filled))
return { 'filled', length + count }
