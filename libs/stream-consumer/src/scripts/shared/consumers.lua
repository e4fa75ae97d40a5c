-- Consumer of the entries that wait for a retry or a takeover. No session works on them.
local WAITING = 'waiting'

-- First part of the name of a parking consumer, before the key. It has the entries of the key behind the head. Names of
-- sessions have no space.
local PARKED = 'parked '

-- Most deleted entries of a parking consumer that a script drops at once; repair drops the others.
local MAX_GONE = 100

local function parking_name(key)
  return PARKED .. key
end

-- The key of a parking consumer; nil for any other consumer.
local function parked_key(consumer)
  return string.sub(consumer, 1, #PARKED) == PARKED and string.sub(consumer, #PARKED + 1) or nil
end
