--[[
set-pause: pause a bucket (shard of an activity), or resume it.

KEYS[1]  meta      hash  <prefix>:red-packet:{<partition>}:meta:<activity>
ARGV[1]  state     str   'paused' | 'open'
ARGV[2]  decision  str   number of the decision, from the script next-decision; '' for an activity with one bucket

Returns {was, is}
  was  state before this call: 'draft' | 'open' | 'paused' | 'closed' | 'spread:<buckets>' | ''   '' if there is no bucket
  is   state after this call; states other than 'open' and 'paused' stay as they are, as does the state that a later decision has set

O(1). TTL: untouched. Clock: none. Replay: sets the same state again; for an activity with one
bucket, even if another call has changed the state meanwhile.
]]
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'open' and state ~= 'paused' then return { state or '', state or '' } end
if ARGV[1] ~= 'open' and ARGV[1] ~= 'paused' then
  return redis.error_reply('BADSTATE ARGV[1] is neither open nor paused; nothing was changed')
end
if ARGV[2] ~= '' then
  -- Two calls at the same time may reach the buckets in any order. The decision with the higher number counts in each bucket.
  if tonumber(redis.call('HGET', KEYS[1], 'decision') or '0') > tonumber(ARGV[2]) then return { state, state } end
  redis.call('HSET', KEYS[1], 'decision', ARGV[2])
end
if state ~= ARGV[1] then redis.call('HSET', KEYS[1], 'state', ARGV[1]) end
return { state, ARGV[1] }
