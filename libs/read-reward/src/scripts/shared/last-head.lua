-- The head that was parsed last, for which `current`, and the items that count. Users whose period is full mostly have the same head,
-- so a group parses few.
local last_head, last_current, last_used = nil, nil, nil
