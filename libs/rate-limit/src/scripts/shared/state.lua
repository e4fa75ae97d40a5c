-- Algorithms by name. Each has three functions. `value` is the value of `key`; '' if the key is missing or not a string.
-- look(rule, key, value, cost): returns up to seven values: the hits that count; the ms until no hit counts; the ms until `cost` more hits
--   may be allowed; the ms until more hits are allowed (0 if no hit counts); and up to three values, which `charge` gets as `...`.
-- charge(rule, key, cost, ...): counts `cost` more hits. Returns the ms until no hit counts, and the ms until more hits are allowed.
-- refund(rule, key, value, cost, charge): takes hits back, and returns their number. `charge` identifies the decision (see refund.lua).
local algorithms = {}

-- Longest time of a block, and longest time for which earlier blocks are remembered: 400 days, ms.
local LONGEST_MS = 34560000000

-- Sets the expiry of a key that has none, or whose expiry is more than 1 s too late.
local function keep_ttl(key, until_ms)
  local ends_ms = redis.call('PEXPIRETIME', key)
  if ends_ms == -1 or ends_ms > until_ms + 1000 then redis.call('PEXPIREAT', key, until_ms + 1) end
end

-- Parsed rules by their parameters (see consume.lua). Calls that are sent together mostly have the same rules, so each is parsed once.
local rules = {}
local function parse_rule(text)
  if rules[text] then return rules[text] end
  local name, limit, window_ms, capacity, mode, penalty =
    string.match(text, '^([%l-]+):(%d+):(%d+):(%d+):(%l*):([%d:]*)$')
  local block_ms, most_ms = string.match(penalty, '^(%d+):(%d+)$')
  block_ms, most_ms = tonumber(block_ms), tonumber(most_ms)
  -- Earlier blocks are remembered only if they make the next one longer. A rule without blocks keeps them, too, because another rule of
  -- this name may have blocks.
  local memory_ms = not block_ms and LONGEST_MS or most_ms > block_ms and most_ms or 0
  rules[text] = {
    algorithm = algorithms[name], limit = tonumber(limit), window_ms = tonumber(window_ms), capacity = tonumber(capacity),
    enforced = mode ~= 'shadow', fresh = mode == 'fresh', block_ms = block_ms, most_ms = most_ms, memory_ms = memory_ms,
  }
  return rules[text]
end
