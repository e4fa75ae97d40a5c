-- @include now-text
-- @include granting
-- Removes the packets that a group granted from the pool, and writes their sum and the best packet, once for the group. No
-- command of this part can fail: types of keys and permissions were checked before the first write.
local gate = gates[KEYS[1]]
if gate and gate.taken > 0 then
  redis.call('LPOP', KEYS[2], gate.taken)
  redis.call('HSET', KEYS[3], '', string.format('%.0f', gate.granted))
  gate.taken = 0
  local best = gate.luckiest
  if best then
    redis.call('HSET', KEYS[1], 'bestCents', best[1], 'bestPacket', best[2], 'bestAt', now_text, 'bestUser', best[3])
    gate.luckiest = nil
  end
end
