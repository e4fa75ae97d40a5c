--[[
record: grant points for an item that a user has read, if the item is new and the period has room. Only for rules whose period is a day,
week or month, and whose items all get the same points. If this script cannot decide, the caller must call record-fully.

KEYS[1]  state     hash  <prefix>:read-reward:{<partition>}:state:<rule>:<user>
ARGV[1]  itemId    str   1 to 256 characters
ARGV[2]  grant    str   points of an item, two colons, and the id of the call; stored with the grant, to detect a replay
ARGV[3]  limit    int   maximum number of items that a period rewards
ARGV[4]  gap      int   length of the next period, ms
ARGV[5]  current  str   start and end of the current period, end of the next one (ms since 1970) and points of an item, with a colon
                        after each

Returns counted
  counted  int   rewarded: (refunds * 2^20 + used) * 4 + 1; duplicate: used * 4 + 2; capped: used * 4 + 3. 0: nothing was decided or
                 written, because Redis' clock is not in the current period, the user's period has other bounds or points per item,
                 or a TTL was lost. used: number of items that count in the period; refunds: number of refunded grants of the
                 period; refunds + used: number of the grant. One integer costs Redis a seventh less time than an array of three

O(1). TTL: the first grant of a period sets the end of the next one. Clock: Redis, or the time that is left until the state
expires. Replay: the first result while the grant exists, found by the id of the call next to the item.
]]
-- @include once-a-group
local state = redis.call('HMGET', KEYS[1], '', ARGV[1])
local head, grant = state[1], state[2]
local left_ms = head and redis.call('PTTL', KEYS[1])
-- The state expires one period after the user's period. So while the user's period runs, the TTL is longer than the next period (ARGV[4]).
local has_begun = head and left_ms - ARGV[4] > 0 and string.find(head, ARGV[5], 1, true) == 1
local seq, refunds, expires = 0, '0', nil
if has_begun then
  seq, refunds = string.match(head, '^0:(%d+):(%d+)$', #ARGV[5] + 1)
  if not seq then return 0 end
  if grant then
    local number, before, kept = string.match(grant, '^(%d+):(%d+):(.*)$')
    if kept == ARGV[2] then return (before * 1048576 + number - before) * 4 + 1 end
    return (seq - refunds) * 4 + 2
  end
else
  if not now_ms then
    local time = redis.call('TIME')
    now_ms = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
  end
  local from, to, after = string.match(ARGV[5], '^(%d+):(%d+):(%d+):[1-9]%d*:$')
  local is_current = from and now_ms - from >= 0 and now_ms - to < 0 and after - to > 0
  local last = not head and '0' or left_ms >= 0 and string.match(head, '^%d+:(%d+):')
  if not is_current or not last or last - from > 0 then return 0 end
  expires = after
end
local used = seq - refunds
if used - ARGV[3] >= 0 then return used * 4 + 3 end
if not has_begun then
  -- Redis does not undo the first write if it refuses a later one. Only a new period needs several writes, so only here are the permissions
  -- for the later ones checked first.
  permitted = permitted or redis.acl_check_cmd('PEXPIREAT', KEYS[1], 1)
  if not permitted or head and not redis.acl_check_cmd('HSET', KEYS[1], 'f', 'v') then
    return redis.error_reply('NOTALLOWED the Redis user needs permission for HSET and PEXPIREAT; nothing was granted')
  end
  if head then redis.call('UNLINK', KEYS[1]) end
end
local number = seq + 1
redis.call('HSET', KEYS[1], '', ARGV[5] .. '0:' .. number .. ':' .. refunds, ARGV[1], number .. ':' .. refunds .. ':' .. ARGV[2])
if not has_begun then redis.call('PEXPIREAT', KEYS[1], expires) end
return (refunds * 1048576 + used + 1) * 4 + 1
