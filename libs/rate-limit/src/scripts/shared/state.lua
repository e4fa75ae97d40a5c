-- What every algorithm gives: look(rule, key, value, cost) returns hits used, ms to the reset, ms to a retry, ms until one
-- more hit passes than now (0 if none counts), and up to three values for charge(rule, key, cost, ...), which writes what
-- was looked at and returns ms to the reset and ms until one more hit passes; refund(rule, key, value, cost, charged_us)
-- returns the hits that it gave back.
local algorithms = {}

-- 400 days: no rule blocks or remembers for longer.
local LONGEST_MS = 34560000000

-- No key outlives what it counts: one that lost its expiry, or was given a later one, gets it again.
local function keep_ttl(key, until_ms)
  local ends_ms = redis.call('PEXPIRETIME', key)
  if ends_ms == -1 or ends_ms > until_ms + 1000 then redis.call('PEXPIREAT', key, until_ms + 1) end
end

-- Calls of a group mostly have the same rules, so each text is read once a group.
local rules = {}
local function parse_rule(text)
  if rules[text] then return rules[text] end
  local name, limit, window_ms, capacity, mode, penalty =
    string.match(text, '^([%l-]+):(%d+):(%d+):(%d+):(%l*):([%d:]*)$')
  local block_ms, factor, most_ms, memory_ms = string.match(penalty, '^(%d+):(%d+):(%d+):(%d+)$')
  rules[text] = {
    algorithm = algorithms[name], limit = tonumber(limit), window_ms = tonumber(window_ms), capacity = tonumber(capacity),
    enforced = mode ~= 'shadow', fresh = mode == 'fresh', block_ms = tonumber(block_ms), factor = tonumber(factor),
    most_ms = tonumber(most_ms), memory_ms = tonumber(memory_ms) or LONGEST_MS,
  }
  return rules[text]
end
