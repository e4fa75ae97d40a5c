-- Is added to the due time of a task that waits for the turn of its group, in the zset `due`.
local IN_LINE = 4503599627370496
