export { type ConnectionAdapter, connectionContract } from './connection-contract';
export type { FaultProxy } from './fault-proxy';
export type { RedisCluster } from './redis-cluster';
export type { RedisSentinel } from './redis-sentinel';
export type { RedisServer } from './redis-server';
export { startCluster } from './start-cluster';
export { startFaultProxy } from './start-fault-proxy';
export { startRedis } from './start-redis';
export { startSentinel } from './start-sentinel';
