--[[
wait: acquire a lock if it is this process' turn. Otherwise enter the lock's queue, or stay in it. The process that has waited longest
comes first.

KEYS[1]  lock      string  <prefix>:lock:{<name>}:lock; waiting processes listen to a channel of the same name
KEYS[2]  queue     hash    <prefix>:lock:{<name>}:queue; a field per ticket: time since when it waits (us), end of its validity (ms)
ARGV[1]  owner     str     token of one acquisition, different for each acquisition of a name
ARGV[2]  leaseMs   int     1 or more
ARGV[3]  ttlMs     int     leaseMs plus the time for which the fence is kept after the lease
ARGV[4]  ticket    str     ticket: id of the waiting process in the queue
ARGV[5]  countsMs  int     how long the ticket is valid without another call, ms; 0: do not enter the queue
ARGV[6]  turnMs    int     how long a free lock is kept for the first process in the queue, ms

Returns {fence, leftMs, ahead}
  fence   int  fencing token of this acquisition if leftMs is 0; otherwise the last one
  leftMs  int  0: this owner has the lock; otherwise ms until the lease ends, or until the turn of the first process ends
  ahead   int  number of processes that come before this one, without a process that takes the free lock next: nobody announces that it
               does, so its release is the next one that is announced

O(tickets), which are at most 512. TTL: lock: ttlMs; queue: until its last ticket is invalid. Clock: Redis. Replay: returns the fence of
the first call until its lease ends; otherwise tries again, with the same ticket.
]]
-- @include clock
-- @include record
-- @include queue
local raw = redis.call('GET', KEYS[1])
local lock = { till = 0, waits = '0', fence = 0, owner = '' }
if raw then lock = parse_lock(raw) end
if not lock then return bad_lock() end
if lock.till > now_ms and lock.owner == ARGV[1] then return { lock.fence, 0, 0 } end

local queue = read_queue(redis.call('HGETALL', KEYS[2]), ARGV[4])
for i = 1, #queue.ended do redis.call('HDEL', KEYS[2], queue.ended[i]) end

if lock.till <= now_ms and queue.ahead == 0 then
  local fence = math.max(lock.fence + 1, now_us)
  if queue.mine then redis.call('HDEL', KEYS[2], ARGV[4]) end
  redis.call('SET', KEYS[1], format_lock(now_ms + ARGV[2], queue.others > 0 and '1' or '0', fence, ARGV[1]), 'PX', ARGV[3])
  -- The waiting processes still believe that the expired tickets come before theirs, so they are woken.
  if queue.others > 0 and #queue.ended > 0 then redis.call('SPUBLISH', KEYS[1], 'ended') end
  return { fence, 0, 0 }
end

local left_ms, counts_ms, ahead = lock.till - now_ms, tonumber(ARGV[5]), queue.ahead
if left_ms <= 0 then
  ahead = ahead - 1
  local first = queue.first
  left_ms = math.min(first.till - now_ms, tonumber(ARGV[6]))
  redis.call('HSET', KEYS[2], first.ticket, format_ticket(first.since, now_ms + left_ms))
end
if counts_ms > 0 and (queue.mine or queue.others < most_tickets) then
  redis.call('HSET', KEYS[2], ARGV[4], format_ticket(queue.mine or math.max(now_us, queue.last + 1), now_ms + counts_ms))
  redis.call('PEXPIREAT', KEYS[2], math.max(queue.till, now_ms + counts_ms))
  if raw and lock.waits == '0' then redis.call('SETRANGE', KEYS[1], '13', '1') end
end
return { lock.fence, left_ms, ahead }
