-- Codes of the status in replies. `rules` has each parsed argument `rule` by its text, because the calls of one EVALSHA mostly have the
-- same text.
local REWARDED, DUPLICATE, CAPPED, OUTSIDE = 1, 2, 3, 0
local rules = {}
local function parse_rule(text)
  if rules[text] then return rules[text] end
  local limit, each, cap, total_ms, b0, b1, b2, b3, b4 =
    string.match(text, '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local rule = { limit = tonumber(limit), each = tonumber(each), cap = tonumber(cap), total_ms = tonumber(total_ms),
    to = b2, after = b3, b0 = tonumber(b0), b1 = tonumber(b1), b2 = tonumber(b2), b3 = tonumber(b3), b4 = tonumber(b4) }
  if not limit or rule.each < 1 or not (rule.b0 < rule.b1 and rule.b1 < rule.b2 and rule.b2 < rule.b3 and rule.b3 < rule.b4) then
    return nil, redis.error_reply('BADRULE the rule is not nine integers with points of 1 or more and ordered periods; nothing was changed')
  end
  rules[text] = rule
  return rule
end

-- Integers as text. The calls of one EVALSHA write the same small integers, so each integer is formatted once.
local texts = {}
local function format_integer(n)
  local text = texts[n]
  if not text then
    -- Lua converts a number below 10^14 to text exactly, which is enough for times and for numbers of items or points.
    text = n .. ''
    texts[n] = text
  end
  return text
end

-- Returns the user's period, from the head of the state: true if the period begins now; its start, its end and the expiry of the state as
-- text; its points, the number of its last grant, and the number of its refunded grants. Of the points, the head has only the difference
-- from the usual points of its items (`extra`). So a grant mostly changes only one number in the head.
local function find_period(rule, head, now)
  local from, to, expires, each, extra, seq, refunds =
    string.match(head or '', '^(%d+):(%d+):(%d+):(%d+):(-?%d+):(%d+):(%d+)$')
  local last, after = tonumber(to) or 0, rule.b3
  if now < last then return false, from, to, expires, extra + each * (seq - refunds), tonumber(seq), tonumber(refunds) end
  -- With `total`, a user has one period, which begins with the first grant. If the state expires and another period begins, its start
  -- differs, so no grant gets the id of an earlier one.
  if rule.total_ms > 0 then return true, format_integer(now), rule.to, rule.after, 0, 0, 0 end
  from, to = rule.b1, rule.b2
  if now < rule.b1 then
    from, to, after = rule.b0, rule.b1, rule.b2
  elseif now >= rule.b2 then
    from, to, after = rule.b2, rule.b3, rule.b4
  end
  -- The last period ended after this one had begun, because the user's time zone or the rule's calendar has changed. The rest of this
  -- period would be too short, so the user's period also contains the next whole one.
  if last > from then from, to, after = last, after, 2 * after - to end
  return true, format_integer(from), format_integer(to), format_integer(after), 0, 0, 0
end

local function count_room(rule, used, sum)
  local room = rule.limit - used
  if rule.cap > 0 then room = math.min(room, math.ceil((rule.cap - sum) / rule.each)) end
  return room > 0 and room or 0
end

-- Sets the expiry of a key that exists without one.
local function keep_ttl(key, until_ms)
  if redis.call('PEXPIRETIME', key) == -1 then redis.call('PEXPIREAT', key, until_ms) end
end

-- True after the permissions for all writes were checked. Redis does not undo earlier writes if it refuses a later one, so the check comes
-- before the first write. All calls of one EVALSHA share the check.
local permitted = false
local DENIED = 'NOTALLOWED the Redis user needs all permissions for the keys of read-reward: HSET, HDEL, SADD, SREM, '
  .. 'SET, UNLINK, XADD or PEXPIREAT; nothing was granted or refunded'
