local NEVER = 9007199254740991
local LEASE_ENDED = 'the lease ended: the worker died or stood still in the last attempt'
