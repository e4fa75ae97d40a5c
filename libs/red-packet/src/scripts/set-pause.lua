--[[
set-pause: pause a bucket, or resume it.

KEYS[1]  meta   hash  <prefix>:red-packet:{<activity>}:meta
ARGV[1]  state  str   'paused' | 'open'

Returns {was, is}
  was  'draft' | 'open' | 'paused' | 'closed' | 'spread:<buckets>' | ''   '' if there is no bucket
  is   the same after this call; only 'open' and 'paused' change into one another

O(1). TTL: untouched. Clock: none. Replay: finds it done.
]]
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'open' and state ~= 'paused' then return { state or '', state or '' } end
if ARGV[1] ~= 'open' and ARGV[1] ~= 'paused' then return redis.error_reply('BADSTATE not open or paused, nothing was changed') end
if state ~= ARGV[1] then redis.call('HSET', KEYS[1], 'state', ARGV[1]) end
return { state, ARGV[1] }
