-- The head of a user's state (the field with an empty name) that was parsed last, the argument `current` of that call, and the number of
-- items that count. Users whose period is full mostly have the same head, so the calls of one EVALSHA seldom parse another one.
local last_head, last_current, last_used = nil, nil, nil
