-- Redis' clock (ms since 1970), and true if the Redis user has the permissions. One EVALSHA runs a group of calls. The first call that
-- needs these values reads them for the whole group.
local now_ms, permitted = nil, nil
