-- Redis' clock and the checked permissions, which a call reads once for all calls of its group.
local now_ms, permitted = nil, nil
