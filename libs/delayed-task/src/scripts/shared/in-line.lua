-- This number is added to the due time of a task that waits for other tasks of its group. So in the sorted set `due`, such a task comes
-- after all tasks that may start.
local IN_LINE = 4503599627370496
-- Time that the next task of a paused group has in the sorted set `due`, ms: later than any real time, so that `take` does not find it.
local PAUSED = 1000000000000000
