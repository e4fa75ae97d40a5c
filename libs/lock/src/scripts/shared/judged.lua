-- The last value judged: locks that were taken together have one value.
local judged_raw, judged_owner, verdict, waits
