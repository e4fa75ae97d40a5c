--[[
end-action: add the result of an action to its entry in the log.

KEYS[1]  order    zset  <prefix>:console:{log}:order    tokens of the entries, by their times in microseconds
KEYS[2]  entries  hash  <prefix>:console:{log}:entries  b<token>: who does what; e<token>: the result
ARGV[1]  token    str   identifies the entry
ARGV[2]  text     str   the result, as JSON

Returns written
  written  int  1; 0 if the log no longer has the entry, or if the entry has a result already

O(1). TTL: untouched. Clock: none. Replay: the first result stays.
]]
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
return redis.call('HSETNX', KEYS[2], 'e' .. ARGV[1], ARGV[2])
