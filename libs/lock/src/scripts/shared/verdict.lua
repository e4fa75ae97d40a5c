-- Result of the last comparison of a lock's value with an owner: `mine`: the owner has the lock. `waits`: processes wait for the lock.
-- Calls that are sent together mostly have the same values, so the result can be used again.
local last_raw, last_owner, mine, waits
