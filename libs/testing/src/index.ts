import { allowPlainMethods } from '../../internal/src';

export { TestClock, type TestClockOptions } from './clock/test-clock';
export type { Fault, FaultOptions } from './faults/faults';
export type { Faults } from './faults/redis-faults';
export type { MessageOutcome, TaskOutcome, TickOutcome } from './harness/driver-results';
export type { PublishedMessage, ScheduledTask } from './harness/records';
export { LuanestTesting } from './luanest-testing';
export { MemoryRedis, type CommandArgument, type MemoryRedisOptions, type Snapshot } from './redis/memory-redis';
export { LuanestTestingModule } from './testing.module';
export { TestingSetupError } from './testing.errors';
export type { LuanestTestingModuleOptions } from './testing.options';

allowPlainMethods();
