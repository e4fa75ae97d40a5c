-- @include clock
-- @include errors
-- @include tries
-- Shared steps of the scripts take and take-ordered, whose first seven keys and six arguments are the same. Data for the reply:
-- `ids`: ids of all entries of the reply. `fresh`: rows of entries that this group gets for the first time. `again`: rows of all others.
-- `parked`: ids of entries that are not in the reply, because they wait for an earlier one of their key.
local again, fresh, ids, parked = {}, {}, {}, {}

-- End of the caller's lease as text; false if the caller has no lease.
local lease
local function is_session_lost()
  lease = redis.call('ZSCORE', KEYS[2], ARGV[2])
  return lease == '0' or (not lease and ARGV[6] == '0')
end

-- Extends the caller's lease. A new caller without entries gets no lease, because nothing could be taken over from it.
local function extend_lease()
  if lease or ids[1] then
    redis.call('ZADD', KEYS[2], now_ms + ARGV[5], ARGV[2])
  else
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
  end
end

local function add_row(rows, id, payload, key, operation)
  local at = #rows
  rows[at + 1], rows[at + 2], rows[at + 3], rows[at + 4] = id, payload, key, operation
end

-- Adds an entry to the reply. `tried` has its earlier attempts as text, '' if they are unknown; nil or false means that the entry is new.
local function add_entry(id, tried, is_ours, payload, key, operation)
  ids[#ids + 1] = id
  if is_ours and not tried then return add_row(fresh, id, payload, key, operation) end
  local attempts, first_seen, _, returned = parse_tries(tried)
  add_row(again, id, payload, key, operation)
  again[#again + 1] = is_ours and format_attempts(attempts + 1, returned) or '0'
  again[#again + 1] = string.format('%.0f', first_seen or now_ms)
end

-- Returns the token and the entries, as text, of the caller's last call that returned entries.
local function last_take()
  return string.match(redis.call('HGET', KEYS[3], ARGV[2]) or '', '^(%S*)(.*)$')
end

-- Returns true if this call was delayed on its way, and a later call of the same caller has run before. Then nobody waits for the reply.
local function is_late(last_token)
  return (tonumber(ARGV[3], 36) or 0) < (tonumber(last_token, 36) or 0)
end

-- Adds the entries of the caller's last call to the reply again, because the first reply was lost.
local function repeat_take(noted_ids, give)
  for id in string.gmatch(noted_ids, '%S+') do
    for _, entry in ipairs(redis.call('XRANGE', KEYS[1], id, id)) do give(entry, redis.call('HGET', KEYS[5], id)) end
  end
end

-- Forgets due entries that were deleted from the stream. If the stream still has an entry that XCLAIM did not return, another client has
-- removed it from the list of pending entries, and the script repair will add it again.
local function forget_missing(due, entries)
  local found = {}
  for _, entry in ipairs(entries) do found[entry[1]] = true end
  for _, id in ipairs(due) do
    if not found[id] and not redis.call('XRANGE', KEYS[1], id, id)[1] then
      redis.call('HDEL', KEYS[5], id)
      redis.call('SREM', KEYS[7], id)
    end
  end
end

-- Adds the entries whose retry is due to the reply. Returns their number, or nil and an error.
local function give_due(give)
  local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now_ms, 'LIMIT', 0, ARGV[4])
  if #due == 0 then return 0 end
  local claimed = redis.pcall('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, unpack(due))
  if failed(claimed) then return nil, claimed end
  redis.call('ZREM', KEYS[4], unpack(due))
  for _, entry in ipairs(claimed) do give(entry, redis.call('HGET', KEYS[5], entry[1]) or '') end
  if #claimed < #due then forget_missing(due, claimed) end
  return #due
end

-- Adds at most `count` new entries to the reply. Returns true if there may be more, or nil and an error.
local function give_new(count, give)
  local read = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', count, 'STREAMS', KEYS[1], '>')
  if failed(read) then return nil, read end
  local entries = read and read[1][2] or {}
  for _, entry in ipairs(entries) do give(entry) end
  return #entries == count
end

local function reply_without_entries(state)
  return { state, 0, -1, -1, now_ms, 0 }
end

-- Stores the entries of the reply, so that a replay with the same token can return them, and adds them to the unfinished entries.
local function note_take()
  if #ids > 0 then
    redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. table.concat(ids, ' '))
    redis.call('SADD', KEYS[7], unpack(ids))
  end
  if #parked > 0 then redis.call('SADD', KEYS[7], unpack(parked)) end
end

-- Builds the reply. If no entries are left, deletes the key `woken`, so that the next publish wakes the readers.
local function build_reply(more, is_blocked)
  if not more then redis.call('DEL', KEYS[6]) end
  local next_due = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
  local next_end = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  local due_in = next_due[2] and math.max(0, next_due[2] - now_ms) or -1
  local end_in = next_end[2] and math.max(0, next_end[2] - now_ms) or -1
  local reply = { 1, more and 1 or is_blocked and 2 or 0, due_in, end_in, now_ms, #again / 6 }
  for i = 1, #again do reply[i + 6] = again[i] end
  for i = 1, #fresh do reply[#reply + 1] = fresh[i] end
  return reply
end
