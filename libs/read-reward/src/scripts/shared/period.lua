-- Calls of a group mostly have the same rule and periods, so each text is read once a group.
local REWARDED, DUPLICATE, CAPPED, OUTSIDE = 1, 2, 3, 0
local rules = {}
local function rule_of(text)
  if rules[text] then return rules[text] end
  local limit, each, cap, total_ms, b0, b1, b2, b3, b4 =
    string.match(text, '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local rule = { limit = tonumber(limit), each = tonumber(each), cap = tonumber(cap), total_ms = tonumber(total_ms),
    from = b1, to = b2, after = b3, b0 = tonumber(b0), b1 = tonumber(b1), b2 = tonumber(b2), b3 = tonumber(b3), b4 = tonumber(b4) }
  if limit then rule.current = b1 .. ':' .. b2 .. ':' end
  if not limit or rule.each < 1 or not (rule.b0 < rule.b1 and rule.b1 < rule.b2 and rule.b2 < rule.b3 and rule.b3 < rule.b4) then
    return nil, redis.error_reply('BADRULE a figure of the rule is missing or its periods are out of order, nothing was changed')
  end
  rules[text] = rule
  return rule
end

-- An integer as text. Calls of a group write the same small ones again and again, and each is formatted anew by Lua.
local texts = {}
local function text_of(n)
  local text = texts[n]
  if not text then
    text = string.format('%.0f', n)
    texts[n] = text
  end
  return text
end

-- The user's period, from the head of the state: whether it begins now, start, end, expiry of the state, all three as text,
-- points, number of the last grant, items that count.
local function period_of(rule, head, now)
  if now >= rule.b1 and now < rule.b2 then
    if not head and rule.total_ms == 0 then return true, rule.from, rule.to, rule.after, 0, 0, 0 end
    if head and string.sub(head, 1, #rule.current) == rule.current then
      local expires, sum, seq, count = string.match(head, '^(%d+):(%d+):(%d+):(%d+)$', #rule.current + 1)
      if expires then return false, rule.from, rule.to, expires, tonumber(sum), tonumber(seq), tonumber(count) end
    end
  end
  local from, to, expires, sum, seq, count = string.match(head or '', '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local last, after = tonumber(to) or 0, rule.b3
  if now < last then return false, from, to, expires, tonumber(sum), tonumber(seq), tonumber(count) end
  -- `total` has one period a user, which begins with the first grant: a user who was forgotten gets a new one, so that no
  -- grant has the id of an earlier one.
  if rule.total_ms > 0 then return true, text_of(now), rule.to, rule.after, 0, 0, 0 end
  from, to = rule.b1, rule.b2
  if now < rule.b1 then
    from, to, after = rule.b0, rule.b1, rule.b2
  elseif now >= rule.b2 then
    from, to, after = rule.b2, rule.b3, rule.b4
  end
  -- The user's calendar changed and would cut this period short: it begins at once and ends with the first whole one.
  if last > from then from, to, after = last, after, 2 * after - to end
  return true, text_of(from), text_of(to), text_of(after), 0, 0, 0
end

-- Items that the period would still reward.
local function room_in(rule, used, sum)
  local room = rule.limit - used
  if rule.cap > 0 then room = math.min(room, math.ceil((rule.cap - sum) / rule.each)) end
  return room > 0 and room or 0
end

-- What most answers are: in the current period and without a cap the rule says the rest.
local function is_brief(rule, from, to)
  return from == rule.from and to == rule.to and rule.cap == 0
end

-- The answer that this very call got before, by its token beside the item.
local function first_answer(rule, head, grant, token)
  local number, points, used, room, by = string.match(grant or '', '^(%d+):(%d+):(%d+):(%d+):(.*)$')
  if by ~= token then return nil end
  local from, to = string.match(head or '', '^(%d+):(%d+):')
  return { REWARDED, tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1 }
end

-- The answer that an operation id got before.
local function stored_answer(rule, text)
  local status, points, used, room, number, from, to, item =
    string.match(text, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
  return { tonumber(status), tonumber(points), tonumber(used), tonumber(room), tonumber(number), from - rule.b1, to - rule.b1, item }
end

-- What is kept of a period and of a grant.
local function head_of(from, to, expires, sum, seq, count)
  return from .. ':' .. to .. ':' .. expires .. ':' .. text_of(sum) .. ':' .. text_of(seq) .. ':' .. text_of(count)
end
local function grant_of(seq, points, used, room, token)
  return text_of(seq) .. ':' .. text_of(points) .. ':' .. text_of(used) .. ':' .. text_of(room) .. ':' .. token
end

-- No key outlives what it counts: one that lost its expiry gets it again.
local function keep_ttl(key, until_ms)
  if redis.call('PEXPIRETIME', key) == -1 then redis.call('PEXPIREAT', key, until_ms) end
end

-- Redis takes nothing back when a command is refused in the middle, so all are asked for before the first; once a group.
local permitted = false
local DENIED = 'DENIED the user of this connection may not run every command of this script, nothing was changed'
