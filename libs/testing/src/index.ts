export { TestClock } from './clock/test-clock';
export type { Faults } from './faults/redis-faults';
export { allowAll, noLock, noOnce } from './harness/unit-tests';
export { LuanestTesting } from './luanest-testing';
export { MemoryRedis, type Snapshot } from '../../memory-redis/src';
export { LuanestTestingModule } from './testing.module';
export { undecorated } from '../../internal/src';
