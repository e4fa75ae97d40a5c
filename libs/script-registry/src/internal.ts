// For luanest/testing. Users do not see it.
export { connectIoredis } from './connection/ioredis-connection';
export { CommandFailure, type RedisConnection, type RedisNode } from './connection/port';
export { REPLACE_REDIS, type ReplaceRedis, type ReplacedRedis } from './connection/redis-replacement';
