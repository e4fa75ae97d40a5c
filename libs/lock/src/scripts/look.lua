--[[
look: read the state of a lock, and how many processes wait for it.

KEYS[1]  lock   string  <prefix>:lock:{<name>}:lock
KEYS[2]  queue  hash    <prefix>:lock:{<name>}:queue; a field per ticket: time since when it waits (us), end of its validity (ms)

Returns {held, fence, till, owner, waiters, since}
  held     1 | 0  0 if the lock is free
  fence    int    the last fence; 0 if Redis does not know the name
  till     int    when the lease ends, ms since 1970; 0 if the lock is free
  owner    str    token of the owner; '' if the lock is free
  waiters  int    number of processes that wait
  since    int    since when the first of them waits, us since 1970; 0 if none waits

O(tickets), which are at most 512. TTL: untouched. Clock: Redis. Replay: reads again.
]]
-- @include clock
-- @include record
-- @include queue
local raw = redis.call('GET', KEYS[1])
local lock = { till = 0, waits = '1', fence = 0, owner = '' }
if raw then lock = parse_lock(raw) end
if not lock then return bad_lock() end
local waiters, since = 0, 0
if lock.waits == '1' then
  local queue = read_queue(redis.call('HGETALL', KEYS[2]))
  waiters, since = queue.others, queue.first and queue.first.since or 0
end
if lock.till <= now_ms then return { 0, lock.fence, 0, '', waiters, since } end
return { 1, lock.fence, lock.till, lock.owner, waiters, since }
