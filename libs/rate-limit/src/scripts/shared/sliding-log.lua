-- The state is a sorted set of <us>:<n>:<cost> by us; its member `total`, below all of them, has the sum of the costs.
local LOWEST_US = '1e12'
local function total_of(key)
  local total = redis.pcall('ZSCORE', key, 'total')
  return type(total) == 'string' and math.max(0, math.min(tonumber(total), 1e10)) or nil
end

algorithms['sliding-log'] = {
  look = function(rule, value)
    local key, total = rule.key, total_of(rule.key)
    -- A state that is no log, or has lost its total, cannot be counted.
    if not total then
      if value ~= '' or redis.call('EXISTS', key) == 1 then redis.call('DEL', key) end
      rule.total = 0
      return 0, 0, rule.window_ms
    end
    local from_us = string.format('%.0f', now_us - rule.window_ms * 1000)
    local gone = redis.call('ZRANGEBYSCORE', key, LOWEST_US, from_us)
    for i = 1, #gone do total = total - string.match(gone[i], '%d+$') end
    if #gone > 0 then
      redis.call('ZREMRANGEBYSCORE', key, LOWEST_US, from_us)
      redis.call('ZADD', key, total, 'total')
    end
    rule.total = total
    local fits, retry_ms = rule.capacity - total, rule.window_ms
    if fits < rule.cost then
      local hits = redis.call('ZRANGEBYSCORE', key, '(' .. from_us, '+inf', 'LIMIT', 0, rule.cost - fits)
      for i = 1, #hits do
        local hit_us, cost = string.match(hits[i], '^(%d+):%d+:(%d+)$')
        fits = fits + cost
        retry_ms = math.ceil((hit_us - from_us) / 1000)
        if fits >= rule.cost then break end
      end
    end
    local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    return total, total > 0 and math.ceil((newest[2] - from_us) / 1000) or 0, retry_ms
  end,
  charge = function(rule)
    local key, at, cost = rule.key, string.format('%.0f', now_us), string.format('%.0f', rule.cost)
    local n = redis.call('ZCARD', key)
    while redis.call('ZADD', key, 'NX', at, at .. ':' .. n .. ':' .. cost) == 0 do n = n + 1 end
    redis.call('ZADD', key, rule.total + rule.cost, 'total')
    redis.call('PEXPIREAT', key, now_ms + rule.window_ms + 1)
    return rule.window_ms
  end,
  refund = function(rule)
    local total = total_of(rule.key)
    if not total or rule.charged_us <= now_us - rule.window_ms * 1000 then return 0 end
    local at = string.format('%.0f', rule.charged_us)
    local hits = redis.call('ZRANGEBYSCORE', rule.key, at, at)
    for i = 1, #hits do
      if tonumber(string.match(hits[i], '%d+$')) == rule.cost then
        redis.call('ZREM', rule.key, hits[i])
        redis.call('ZADD', rule.key, total - rule.cost, 'total')
        return rule.cost
      end
    end
    return 0
  end,
}
