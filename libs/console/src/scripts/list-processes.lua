--[[
list-processes: read the processes that wrote their counts last.

KEYS[1]  seen       zset  <prefix>:console:{history}:seen        as in write-history
KEYS[2]  processes  hash  <prefix>:console:{history}:processes   as in write-history
ARGV[1]  limit      int   maximum number of processes

Returns rows
  rows  str  three for each process: name, time of its last write in ms since 1970, JSON about the process; the latest write first

O(limit). TTL: untouched. Clock: not read. Replay: reads again.
]]
local seen, rows = redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES'), {}
for i = 1, #seen, 2 do
  local about = redis.call('HGET', KEYS[2], seen[i]) or ''
  rows[#rows + 1], rows[#rows + 2], rows[#rows + 3] = seen[i], seen[i + 1], string.match(about, '\n(.*)$') or '{}'
end
return rows
