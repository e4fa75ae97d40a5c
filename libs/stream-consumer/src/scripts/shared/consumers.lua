-- Redis consumer that holds the entries which wait for a process: for a retry, because their process died, or because their turn has come.
local WAITING = 'waiting'

-- Prefix of a Redis consumer that holds the entries which wait for an earlier one of their key (parked entries). The key follows. Processes
-- hold entries under names without spaces, so the names differ.
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
