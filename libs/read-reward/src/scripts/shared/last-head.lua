-- The head of a user's state that was parsed last, for which argument `current`, and the number of items that count. Users whose period is
-- full mostly have the same head, so calls that are sent together seldom parse one.
local last_head, last_current, last_used = nil, nil, nil
