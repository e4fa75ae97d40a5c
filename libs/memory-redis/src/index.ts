export type { DirectEvents, DirectLink } from './connection/direct-link';
export { ManualClock, processClock, type Clock } from './clock';
export { MemoryRedis, type CommandArgument, type MemoryRedisOptions, type Snapshot } from './memory-redis';
