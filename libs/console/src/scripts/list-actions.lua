--[[
list-actions: read a page of the log of actions, the newest first.

KEYS[1]  order     zset      <prefix>:console:{log}:order    tokens of the entries, by their times in microseconds
KEYS[2]  entries   hash      <prefix>:console:{log}:entries  b<token>: who does what; e<token>: the result
ARGV[1]  beforeUs  str       only entries that are older, microseconds since 1970; '' to begin with the newest
ARGV[2]  limit     int >= 1  maximum number of entries

Returns at_us, begin, finish, ...
  at_us   str  time of an entry, microseconds since 1970
  begin   str  who does what, as JSON
  finish  str  the result, as JSON; '' if it was not written yet

O(log N + limit). TTL: none is changed. Clock: none. Replay: harmless, writes nothing.
]]
local from = ARGV[1] == '' and '+inf' or '(' .. ARGV[1]
local found = redis.call('ZRANGE', KEYS[1], from, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local page = {}
for i = 1, #found, 2 do
  local texts = redis.call('HMGET', KEYS[2], 'b' .. found[i], 'e' .. found[i])
  page[#page + 1] = found[i + 1]
  page[#page + 1] = texts[1] or '{}'
  page[#page + 1] = texts[2] or ''
end
return page
