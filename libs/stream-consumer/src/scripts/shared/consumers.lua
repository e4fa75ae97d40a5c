-- Redis consumer for entries that no process holds now: they wait for a retry, their process died, or, with `ordered`, their turn has come.
local WAITING = 'waiting'

-- First part of the name of a Redis consumer that holds parked entries: those that wait for an earlier entry of their key. The key follows.
-- Processes hold entries under names without spaces, so no process has such a name.
local PARKED = 'parked '

-- Maximum number of deleted entries that are skipped in the search for the next entry of a key. The script repair removes the others.
local MAX_GONE = 100

local function parking_name(key)
  return PARKED .. key
end

-- Returns the key whose waiting entries a consumer holds; nil for any other consumer.
local function parked_key(consumer)
  return string.sub(consumer, 1, #PARKED) == PARKED and string.sub(consumer, #PARKED + 1) or nil
end
