-- What every algorithm gives: look(rule, value) answers hits used, ms to the reset and ms to a retry; charge(rule) writes
-- what was looked at and answers ms to the reset; refund(rule, value) answers the hits that it gave back.
local algorithms = {}

-- 400 days: no rule blocks or remembers for longer.
local LONGEST_MS = 34560000000

-- No key outlives what it counts: one that lost its expiry, or was given a later one, gets it again.
local function keep_ttl(key, until_ms)
  local ends_ms = redis.call('PEXPIRETIME', key)
  if ends_ms == -1 or ends_ms > until_ms + 1000 then redis.call('PEXPIREAT', key, until_ms + 1) end
end
