-- The head that was parsed last, for which `current`, and the items that count. Users whose period is full have the same head, so a
-- group mostly parses one.
local last_head, last_current, last_used = nil, nil, nil
