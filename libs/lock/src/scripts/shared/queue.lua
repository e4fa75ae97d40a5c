-- @include clock
-- Maximum number of tickets in a queue. Further processes poll until the queue has room.
local most_tickets = 512

-- Makes the value of a ticket: since when its process waits (us, 16 digits), and the end of its validity (ms, 13 digits).
local function format_ticket(since, till)
  return string.format('%016.0f%013.0f', since, till)
end

-- Reads a queue. Returns a table: `ended`: ids of the tickets that are no longer valid. `mine`: since when the ticket `mine` waits; nil if
-- it is not in the queue. `others`: number of the other valid tickets. `ahead`: number of the others that come before `mine`; without
-- `mine` in the queue, all others. `first`: the oldest of the others. `last`: latest time at which a ticket began to wait. `till`: latest
-- end of validity.
local function read_queue(fields, mine)
  local queue = { ended = {}, others = 0, ahead = 0, last = 0, till = 0, mine = nil, first = nil }
  local before = {}
  for i = 1, #fields, 2 do
    local since, till = tonumber(string.sub(fields[i + 1], 1, 16)), tonumber(string.sub(fields[i + 1], 17))
    if not since or not till or till <= now_ms then
      queue.ended[#queue.ended + 1] = fields[i]
    else
      queue.last, queue.till = math.max(queue.last, since), math.max(queue.till, till)
      if fields[i] == mine then
        queue.mine = since
      else
        before[#before + 1] = { ticket = fields[i], since = since, till = till }
      end
    end
  end
  queue.others = #before
  for i = 1, #before do
    local other = before[i]
    if not queue.mine or other.since < queue.mine then queue.ahead = queue.ahead + 1 end
    if not queue.first or other.since < queue.first.since then queue.first = other end
  end
  return queue
end
