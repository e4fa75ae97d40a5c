--[[
end-action: write down what came out of an action.

KEYS[1]  order    zset  <prefix>:console:{log}:order    tokens of the entries, by their times in us
KEYS[2]  entries  hash  <prefix>:console:{log}:entries  'b' and the token: who does what; 'e' and the token: what came out
ARGV[1]  token    str   identifies the entry
ARGV[2]  text     str   what came out, as JSON

Returns written
  written  int  1; 0 if there is no such entry any more, or its end was written earlier

O(1). TTL: that of the entry. Clock: none. Replay: the first end stays.
]]
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
return redis.call('HSETNX', KEYS[2], 'e' .. ARGV[1], ARGV[2])
