--[[
share-secret: agree on one secret among all processes.

KEYS[1]  secret       string    <prefix>:console:{csrf}:secret  the secret of all processes
ARGV[1]  proposed     str       becomes the secret if Redis has none yet
ARGV[2]  retentionMs  int >= 1  time for which a new secret is kept, ms

Returns secret
  secret  str  the secret of all processes

O(1). TTL: retentionMs from the first call. Clock: none. Replay: gets the same reply while the secret is kept.
]]
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2]) or ARGV[1]
