-- @include clock
-- Most processes that wait in turn. Further processes ask periodically until there is room.
local most_tickets = 512

-- A ticket: since when it waits (us, 16 digits), until when it counts (ms, 13 digits).
local function format_ticket(since, till)
  return string.format('%016.0f%013.0f', since, till)
end

-- The tickets of a queue apart from `mine`, and since when `mine` waits. Times are Redis' own.
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
