--[[
fill-pool: append one chunk of packets to the pool of a draft (unfinished activity), if the pool has exactly the length `offset`.

KEYS[1]    meta     hash         <prefix>:red-packet:{<partition>}:meta:<activity>
KEYS[2]    pool     list(str)    <prefix>:red-packet:{<partition>}:pool:<activity>
ARGV[1]    offset   int >= 0     length that the pool must have
ARGV[2..]  chunk    list(str)    1 to 1,000 packets, '<packetId>:<cents>:<sum>'; sum: cents of all packets up to this one

Returns {status, length}
  status  'filled' | 'elsewhere' | 'closed'   filled: by this call; elsewhere: not filled, because the pool has another length;
          closed: not filled, because the bucket is not a draft, or is missing
  length  int   packets in the pool after this call

O(chunk). TTL: expiresAtMs of the draft. Clock: none. Replay: appends nothing, because the pool is
longer than `offset`, or the bucket is not a draft any more.
]]
local meta = redis.call('HMGET', KEYS[1], 'state', 'packets', 'totalCents', 'expiresAtMs')
local length = redis.call('LLEN', KEYS[2])
if meta[1] ~= 'draft' then return { 'closed', length } end
if length ~= tonumber(ARGV[1]) then return { 'elsewhere', length } end
local count = #ARGV - 1
if count < 1 or count > 1000 then
  return redis.error_reply('BADCHUNK the call has ' .. count .. ' packets, expected 1 to 1,000, nothing was appended')
end
local filled = length == 0 and 0 or tonumber(string.match(redis.call('LINDEX', KEYS[2], -1), '^%d+:%d+:(%d+)$'))
if not filled then
  return redis.error_reply('BADPACKET the list of packets is damaged: its last entry is not <packetId>:<cents>:<sum>; nothing was added')
end
for i = 2, #ARGV do
  local cents, sum = string.match(ARGV[i], '^%d+:(%d+):(%d+)$')
  if not cents or tonumber(cents) < 1 then
    return redis.error_reply('BADPACKET ARGV[' .. i .. '] is not <packetId>:<cents>:<sum> with 1 cent or more, nothing was appended')
  end
  filled = filled + cents
  if filled ~= tonumber(sum) then
    return redis.error_reply('BADPACKET the sum in ARGV[' .. i .. '] differs from the cents of all packets up to it, nothing was appended')
  end
end
if length + count > tonumber(meta[2]) or filled > tonumber(meta[3]) then
  return redis.error_reply('BADCHUNK the bucket would get more packets or cents than it was made for; nothing was added')
end
redis.call('RPUSH', KEYS[2], unpack(ARGV, 2))
redis.call('PEXPIREAT', KEYS[2], meta[4])
return { 'filled', length + count }
