-- Consumer that has the entries that no session works on: they wait for a retry, or for an entry of the same key.
local WAITING = 'waiting'

-- Name, before the key, of the consumer that has the entries of a key behind its head. Sessions have no space in their names.
local PARKED = 'parked '

-- Most deleted entries of a parking consumer that a script drops at once; mend drops the others.
local MAX_GONE = 100

local function parking_name(key)
  return PARKED .. key
end

-- The key of a parking consumer; nil for any other consumer.
local function parked_key(consumer)
  return string.sub(consumer, 1, #PARKED) == PARKED and string.sub(consumer, #PARKED + 1) or nil
end
