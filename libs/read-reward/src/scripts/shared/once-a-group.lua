-- Redis' clock and the checked permissions. The first call that needs them reads them for all calls that are sent together.
local now_ms, permitted = nil, nil
