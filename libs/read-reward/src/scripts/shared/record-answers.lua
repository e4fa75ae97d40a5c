-- @include grants
-- Returns 1 if the item counts, else 0, and the first result of this call if it was sent before. With `must_read` it also reads the
-- state if the item is not in the set: a set that was evicted makes no room, because the state still has the grants.
local function find_item(items, state, item, token, rule, head, must_read)
  local known = redis.call('SISMEMBER', items, item)
  local grant = (known == 1 or must_read) and redis.call('HGET', state, item)
  if not grant then return known, nil end
  return 1, first_answer(rule, head, grant, token)
end

-- Sets the expiry of both keys if `is_new`, otherwise only of a key that has lost its expiry.
local function set_ttls(items, state, is_new, items_until, state_until)
  if is_new then
    redis.call('PEXPIREAT', state, state_until)
    redis.call('PEXPIREAT', items, items_until)
  else
    keep_ttl(state, state_until)
    keep_ttl(items, items_until)
  end
end

-- Returns the reply: one integer in the current period of a rule without a limit of points, otherwise all fields.
local function build_answer(rule, from, to, status, points, used, room, seq)
  if from == rule.from and to == rule.to and rule.cap == 0 then
    return ((seq > 0 and seq - used or 0) * 1048576 + used) * 4 + status
  end
  return { status, points, used, room, seq, from - rule.b1, to - rule.b1 }
end
