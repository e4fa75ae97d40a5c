-- @include now-text
-- @include granting
-- Runs after all grabs that were sent together, for the keys of each grab; only the first run for a bucket writes. Removes the granted
-- packets from the pool, and stores the granted cents and the largest packet. No command here can fail, because key types and permissions
-- were checked before the first write.
local gate = gates[KEYS[1]]
if gate and gate.taken > 0 then
  redis.call('LPOP', KEYS[2], gate.taken)
  redis.call('HSET', KEYS[3], '', string.format('%.0f:', gate.granted) .. now_text)
  gate.taken = 0
  local best = gate.luckiest
  if best then
    redis.call('HSET', KEYS[1], 'bestCents', best[1], 'bestPacket', best[2], 'bestAt', now_text, 'bestUser', best[3])
    gate.luckiest = nil
  end
end
