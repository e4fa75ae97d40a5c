-- @include clock
-- @include state
-- The state is a sorted set with a member <us>:<n>:<cost> per counted request, whose score is <us>. The member `total` has the sum of the
-- costs as its score. Scores above LOWEST_US are times; the sum is always lower.
local LOWEST_US = '1e12'
local function read_total(key)
  local total = redis.pcall('ZSCORE', key, 'total')
  return type(total) == 'string' and math.max(0, math.min(tonumber(total), 1e10)) or nil
end
local function read_oldest(key)
  return redis.call('ZRANGE', key, 1, 1, 'WITHSCORES')[2]
end
local function start_of_log(window_ms)
  return string.format('%.0f', now_us - window_ms * 1000)
end

algorithms['sliding-log'] = {
  look = function(rule, key, _, cost)
    local total, window_ms = read_total(key), rule.window_ms
    -- Without the sum, there is no log yet, or the script block or another program has overwritten it. An empty log begins.
    if not total then
      redis.call('DEL', key)
      return 0, 0, window_ms, 0, 0
    end
    local from_us = start_of_log(window_ms)
    local oldest_us = read_oldest(key)
    if oldest_us and tonumber(oldest_us) <= tonumber(from_us) then
      local gone = redis.call('ZRANGEBYSCORE', key, LOWEST_US, from_us)
      for i = 1, #gone do total = total - string.match(gone[i], '%d+$') end
      redis.call('ZREMRANGEBYSCORE', key, LOWEST_US, from_us)
      redis.call('ZADD', key, total, 'total')
      oldest_us = read_oldest(key)
    end
    local fits, retry_ms = rule.capacity - total, window_ms
    if fits < cost then
      local hits = redis.call('ZRANGEBYSCORE', key, '(' .. from_us, '+inf', 'LIMIT', 0, cost - fits)
      for i = 1, #hits do
        local hit_us, hit_cost = string.match(hits[i], '^(%d+):%d+:(%d+)$')
        fits = fits + hit_cost
        retry_ms = math.ceil((hit_us - from_us) / 1000)
        if fits >= cost then break end
      end
    end
    local newest_us = total > 0 and redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or from_us
    local next_ms = math.ceil(((oldest_us or from_us) - from_us) / 1000)
    return total, math.ceil((newest_us - from_us) / 1000), retry_ms, next_ms, total, next_ms
  end,
  charge = function(rule, key, cost, total, next_ms)
    local start, cost_text, n = string.format('%.0f:', now_us), string.format(':%.0f', cost), total
    total = string.format('%.0f', total + cost)
    -- `n` makes members of the same us differ. It begins with the sum of the costs. A refund lowers that sum, so a member with this `n` may
    -- exist; then the next `n` is tried.
    while redis.call('ZADD', key, 'NX', now_us, start .. n .. cost_text) == 0 do n = n + 1 end
    redis.call('ZADD', key, total, 'total')
    redis.call('PEXPIREAT', key, now_ms + rule.window_ms + 1)
    return rule.window_ms, next_ms > 0 and next_ms or rule.window_ms
  end,
  refund = function(rule, key, _, cost, charged_us)
    local total = read_total(key)
    if not total or charged_us <= now_us - rule.window_ms * 1000 then return 0 end
    local at = string.format('%.0f', charged_us)
    local hits = redis.call('ZRANGEBYSCORE', key, at, at)
    for i = 1, #hits do
      if tonumber(string.match(hits[i], '%d+$')) == cost then
        redis.call('ZREM', key, hits[i])
        redis.call('ZADD', key, total - cost, 'total')
        return cost
      end
    end
    return 0
  end,
}
