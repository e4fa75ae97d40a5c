--[[
ring-outbox: wake the processes that pay winners and wait for new rows of an outbox (stream of open payouts), if it has rows.

KEYS[1]  outbox  stream  <prefix>:red-packet:{<partition>}:outbox; its name is also that of the channel

Returns rows
  rows  int  rows in the outbox; -1 if it has rows, and the Redis user may not SPUBLISH

O(1). TTL: untouched. Clock: none. Replay: wakes the processes again, which then read the outbox.
]]
local rows = redis.call('XLEN', KEYS[1])
if rows == 0 then return 0 end
local sent = redis.pcall('SPUBLISH', KEYS[1], 'row')
return type(sent) == 'number' and rows or -1
