-- Is added to the due time of a task that waits for the turn of its group, in the zset `due`.
local IN_LINE = 4503599627370496
-- Time of the head of a paused group in the zset `due`, ms: after all times, and before those in line.
local PAUSED = 1000000000000000
