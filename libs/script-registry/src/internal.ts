// Exports for luanest/testing, which are not part of the public API.
export { type AnyClient, connectClient } from './connection/connect';
export { connectIoredis, type IoredisClient, isIoredis } from './connection/ioredis-connection';
export { isKeyEvents } from './connection/key-events';
export {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisConnection,
  type RedisNode,
} from './connection/port';
export { REPLACE_REDIS, type ReplaceRedis, type ReplacedRedis } from './connection/redis-replacement';
