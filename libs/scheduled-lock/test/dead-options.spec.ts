import { Controller, Get, UseInterceptors, type Type } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import {
  ScheduledLock,
  ScheduledLockInterceptor,
  type ScheduledLockModuleOptions,
  type ScheduledLockOptions,
} from 'luanest/scheduled-lock';
import { InvalidOptionError } from '../../internal/src';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { boot, closeAll } from './support';

afterEach(closeAll);

const cron = Cron('0 0 1 1 *');
const hourly = Interval(3_600_000);
const once = Timeout(1_000_000_000);

function jobOf(scheduler: MethodDecorator, options: ScheduledLockOptions): Type {
  class Jobs {
    @ScheduledLock(options)
    @scheduler
    job(): void {}
  }
  return Jobs;
}

async function refusal(job: Type, lock: Partial<ScheduledLockModuleOptions>, controller = false): Promise<unknown> {
  const metadata = controller ? { controllers: [job] } : { providers: [job], imports: [ScheduleModule.forRoot()] };
  return boot(metadata, { prefix: uniquePrefix(), lock }).then(
    () => 'it booted',
    (error: unknown) => error,
  );
}

const DEAD: [string, MethodDecorator, ScheduledLockOptions, Partial<ScheduledLockModuleOptions>, RegExp][] = [
  [
    'catchUpWithinMs on @Timeout',
    once,
    { key: 'v', catchUpWithinMs: 60_000 },
    {},
    /catchUpWithinMs is 60000.*@Timeout.*Leave the option out/,
  ],
  [
    'catchUpWithinMs that ends with the lease',
    cron,
    { catchUpWithinMs: 2_000, leaseMs: 2_000 },
    {},
    /catchUpWithinMs is 2000.*leaseMs \(2000 ms\)/,
  ],
  [
    'catchUpWithinMs below the default lease',
    cron,
    { catchUpWithinMs: 30_000 },
    {},
    /catchUpWithinMs is 30000.*leaseMs \(30000 ms\)/,
  ],
  [
    'catchUpWithinMs below the lease of the module',
    hourly,
    { catchUpWithinMs: 50_000 },
    { leaseMs: 60_000 },
    /catchUpWithinMs is 50000.*leaseMs \(60000 ms\)/,
  ],
  [
    'lockAtLeastForMs above the lease',
    cron,
    { lockAtLeastForMs: 5_000, leaseMs: 1_000 },
    {},
    /lockAtLeastForMs is 5000.*leaseMs, which is 1000 ms/,
  ],
  [
    'lockAtLeastForMs above the lease of the module',
    cron,
    { lockAtLeastForMs: 5_000 },
    { leaseMs: 4_999 },
    /lockAtLeastForMs is 5000.*leaseMs, which is 4999 ms/,
  ],
  ['key on @Cron', cron, { key: 'v1' }, {}, /key is "v1".*@Timeout.*Leave the option out/],
];

it.each(DEAD)(
  'boot refuses %s, naming the decorator, the job, the value and the remedy',
  async (_, scheduler, options, module, message) => {
    const error = await refusal(jobOf(scheduler, options), module);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toMatch(/^@ScheduledLock on Jobs\.job: /);
    expect((error as Error).message).toMatch(message);
  },
);

it.each([
  ['catchUpWithinMs', { catchUpWithinMs: 60_000 }],
  ['key', { key: 'v' }],
] as [string, ScheduledLockOptions][])('boot refuses %s on a handler', async (option, options) => {
  @Controller()
  class Routes {
    @Get()
    @UseInterceptors(ScheduledLockInterceptor)
    @ScheduledLock(options)
    go(): void {}
  }
  const error = await refusal(Routes, {}, true);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect((error as Error).message).toMatch(
    new RegExp(`^@ScheduledLock on Routes\\.go: ${option} is .*Leave the option out`),
  );
});

it('boot takes options that are at their bounds', async () => {
  for (const [scheduler, options] of [
    [cron, { catchUpWithinMs: 2_001, leaseMs: 2_000 }],
    [cron, { lockAtLeastForMs: 2_000, leaseMs: 2_000 }],
    [hourly, { catchUpWithinMs: 31_000 }],
    [once, { key: 'v1' }],
  ] as [MethodDecorator, ScheduledLockOptions][]) {
    expect(await refusal(jobOf(scheduler, options), {})).toBe('it booted');
    await closeAll();
  }
});
