-- @include clock
-- @include state
-- Starts a block if `due` is true, the rule has blocks, and none is in force. Returns the end of the block, ms; without a block in force, 0
-- or a time in the past. A penalty has the form <end of the block, ms>:<strikes>. The strikes are the number of earlier blocks, which make
-- the next block longer.
local function apply_penalty(rule, key, penalty_key, penalty, due)
  local until_ms, strikes = string.match(penalty or '', '^(%d+):(%d+)$')
  until_ms, strikes = tonumber(until_ms) or 0, math.min(tonumber(strikes) or 0, 1000)
  if until_ms + rule.memory_ms <= now_ms or until_ms > now_ms + LONGEST_MS then until_ms, strikes = 0, 0 end
  if not due or until_ms > now_ms or not rule.block_ms then
    keep_ttl(penalty_key, math.max(until_ms, now_ms) + rule.memory_ms)
    return until_ms
  end
  until_ms = now_ms + math.min(rule.most_ms, rule.block_ms * 2 ^ strikes)
  redis.call('SET', penalty_key, string.format('%.0f:%d', until_ms, strikes + 1), 'PXAT', until_ms + rule.memory_ms)
  if rule.fresh then redis.call('DEL', key) end
  return until_ms
end
