-- Algorithms by name. Each has three functions:
-- look(rule, key, value, cost): returns hits used, ms to the reset, ms to a retry, ms until one hit more than now is allowed
--   (0 if none counts), and up to three values for charge.
-- charge(rule, key, cost, ...): writes the new state; returns ms to the reset and ms until one more hit is allowed.
-- refund(rule, key, value, cost, charged_us): returns the refunded hits.
local algorithms = {}

-- 400 days: the longest block and the longest memory of blocks.
local LONGEST_MS = 34560000000

-- Sets the expiry of a key that has none, or one that is too late.
local function keep_ttl(key, until_ms)
  local ends_ms = redis.call('PEXPIRETIME', key)
  if ends_ms == -1 or ends_ms > until_ms + 1000 then redis.call('PEXPIREAT', key, until_ms + 1) end
end

-- Parses a rule's text. Calls of a group mostly have the same rules, so each text is parsed once per group.
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
