local NEVER = 9007199254740991
local LEASE_ENDED = 'the lease ended: the worker died or stood still in the last attempt'
-- Most bytes of the records of one take, but for a single one that has more.
local MOST_CHARS = 16777216
