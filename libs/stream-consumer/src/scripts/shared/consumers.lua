-- Consumer name under which entries are pending while they wait for a session: for a retry, because their consumer died, or
-- because their turn has come.
local WAITING = 'waiting'

-- First part of the name of a parking consumer; the key follows. A parking consumer has the entries that wait behind the head of
-- their key. Names of sessions have no space, so they differ.
local PARKED = 'parked '

-- Most deleted entries of a parking consumer that are dropped at once. The script repair drops the others.
local MAX_GONE = 100

local function parking_name(key)
  return PARKED .. key
end

-- Returns the key of a parking consumer; nil for any other consumer.
local function parked_key(consumer)
  return string.sub(consumer, 1, #PARKED) == PARKED and string.sub(consumer, #PARKED + 1) or nil
end
