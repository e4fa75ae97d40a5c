-- @include now-text
-- @include granting
-- The packets that a group granted leave the pool at once, and their sum and the best packet are written once. No command of
-- this part can fail: the keys were read, and the permissions checked, before the first write.
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
