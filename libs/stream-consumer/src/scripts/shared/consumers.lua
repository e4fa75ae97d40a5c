-- The consumer that has those entries which nobody works on: they wait for a retry, or for another one of their key.
local WAITING = 'waiting'

-- The consumer that has the entries of a key which wait behind its head. No session has a space in its name.
local PARKED = 'parked '

-- How many parked entries that somebody deleted a script drops at once; mend drops the others.
local MAX_GONE = 100

local function parking_of(key)
  return PARKED .. key
end

-- The key whose parked entries a consumer has; nil for any other consumer.
local function parked_key(consumer)
  return string.sub(consumer, 1, #PARKED) == PARKED and string.sub(consumer, #PARKED + 1) or nil
end
