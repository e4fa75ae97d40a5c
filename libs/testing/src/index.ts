import { Logger } from '@nestjs/common';
import { allowPlainMethods } from '../../internal/src';

export { TestClock, type TestClockOptions } from './clock/test-clock';
export type { Fault, FaultOptions } from './faults/faults';
export type { Faults } from './faults/redis-faults';
export type { MessageOutcome, TaskOutcome, TickOutcome } from './harness/driver-results';
export type { GrabbedPacket, PayoutOutcome } from './harness/packet-records';
export type { PublishedMessage, ScheduledTask } from './harness/records';
export { LuanestTesting } from './luanest-testing';
export { MemoryRedis, type CommandArgument, type MemoryRedisOptions, type Snapshot } from '../../memory-redis/src';
export { LuanestTestingModule } from './testing.module';
export { TestingSetupError } from './testing.errors';
export type { LuanestTestingModuleOptions } from './testing.options';

allowPlainMethods();
if (process.env.NODE_ENV === 'production') {
  new Logger('luanest/testing').warn(
    'luanest/testing was loaded with NODE_ENV=production. Guards and decorators without their module do nothing in this process. ' +
      'Import it in tests only.',
  );
}
