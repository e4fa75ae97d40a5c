-- Algorithms by name. Each algorithm has three functions. `value` is the value of `key`; '' if `key` is missing or not a string.
-- look(rule, key, value, cost): returns the hits that count, the ms until no hit counts, the ms until `cost` may be allowed,
--   the ms until the number of allowed hits rises (0 if no hit counts), and up to three values for `charge`.
-- charge(rule, key, cost, ...): writes the state with `cost` more hits. Returns the ms until no hit counts, and the ms until
--   the number of allowed hits rises.
-- refund(rule, key, value, cost, charge): writes the state without the refunded hits. `charge` identifies the charge, see
--   refund.lua. Returns the refunded hits.
local algorithms = {}

-- Longest block, and longest memory of blocks: 400 days.
local LONGEST_MS = 34560000000

-- Sets the expiry of a key without one, and an expiry that is more than 1 s too late.
local function keep_ttl(key, until_ms)
  local ends_ms = redis.call('PEXPIRETIME', key)
  if ends_ms == -1 or ends_ms > until_ms + 1000 then redis.call('PEXPIREAT', key, until_ms + 1) end
end

-- Parses the parameters of a rule (see consume.lua). A group of calls in one EVALSHA mostly has the same rules, so the
-- parsed rules are kept.
local rules = {}
local function parse_rule(text)
  if rules[text] then return rules[text] end
  local name, limit, window_ms, capacity, mode, penalty =
    string.match(text, '^([%l-]+):(%d+):(%d+):(%d+):(%l*):([%d:]*)$')
  local block_ms, most_ms = string.match(penalty, '^(%d+):(%d+)$')
  block_ms, most_ms = tonumber(block_ms), tonumber(most_ms)
  -- Blocks that do not grow are not remembered. A rule without blocks forgets none: rules that share its name may have some.
  local memory_ms = not block_ms and LONGEST_MS or most_ms > block_ms and most_ms or 0
  rules[text] = {
    algorithm = algorithms[name], limit = tonumber(limit), window_ms = tonumber(window_ms), capacity = tonumber(capacity),
    enforced = mode ~= 'shadow', fresh = mode == 'fresh', block_ms = block_ms, most_ms = most_ms, memory_ms = memory_ms,
  }
  return rules[text]
end
