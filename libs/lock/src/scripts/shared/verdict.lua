-- The last value of a lock and owner that were compared: if the owner has the lock, and if processes wait for it. Locks that one
-- group took mostly have the same value.
local last_raw, last_owner, mine, waits
