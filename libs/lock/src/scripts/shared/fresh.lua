-- The last value written for a lock that had none: calls that leave together mostly have one owner and lease.
local fresh_owner, fresh_lease, fresh
