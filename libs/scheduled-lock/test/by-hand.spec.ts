import { AsyncResource } from 'node:async_hooks';
import { Controller, Get, Injectable, UseInterceptors } from '@nestjs/common';
import * as newest from '@nestjs/schedule';
import { Redis } from 'ioredis';
import * as oldest from 'schedule-oldest';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockService } from 'luanest/scheduled-lock';
import { startFaultProxy } from 'luanest/testing/servers';
import { Gate } from '../../../test/support/gate';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import { boot, closeAll, LATER, Lines, tick } from './support';

type Schedule = Pick<typeof newest, 'Cron' | 'Interval' | 'Timeout' | 'ScheduleModule' | 'SchedulerRegistry'>;
const versions: [string, Schedule][] = [
  ['newest', newest],
  ['oldest', oldest as unknown as Schedule],
];
const NEVER = '0 0 1 1 *';

afterEach(closeAll);

describe.each(versions)(
  'on the %s @nestjs/schedule',
  (_, { Cron, Interval, Timeout, ScheduleModule, SchedulerRegistry }) => {
    const imports = [ScheduleModule.forRoot()];

    it('runNow runs a job now, under the lock and outside its slots, and returns what happened', async () => {
      const gate = new Gate();
      const slots: (number | undefined)[] = [];
      @Injectable()
      class Jobs {
        constructor(private readonly locks: ScheduledLockService) {}
        @Cron(LATER)
        @ScheduledLock({ name: 'daily' })
        async daily(): Promise<string> {
          this.locks.assertHeld();
          slots.push(this.locks.current()?.slot);
          await gate.pass();
          return 'answer';
        }
        @Interval(60_000_000)
        @ScheduledLock({ name: 'every' })
        every(): string {
          return 'every';
        }
        @Timeout(1_000_000_000)
        @ScheduledLock({ name: 'once', key: 'v' })
        once(): string {
          return 'once';
        }
        @Cron(NEVER)
        @ScheduledLock({ name: 'fails' })
        fails(): void {
          throw new Error('on purpose');
        }
      }
      const prefix = uniquePrefix();
      const nodes = await Promise.all([1, 2].map(() => boot({ imports, providers: [Jobs] }, { prefix })));
      const [one, other] = nodes.map(({ app }) => app.get(ScheduledLockService)) as [
        ScheduledLockService,
        ScheduledLockService,
      ];
      const first = one.runNow('daily');
      await eventually(() => expect(gate.entered).toBe(1));
      expect(await other.runNow('daily')).toEqual({ ran: false, status: 'skipped-held' });
      // A tick that meets it is refused like any other, and its slot is free afterwards.
      expect(await tick((nodes[1] as (typeof nodes)[number]).app.get(Jobs), 'daily')).toBeUndefined();
      gate.open();
      expect(await first).toEqual({ ran: true, status: 'ran', value: 'answer' });
      const ticked = tick((nodes[1] as (typeof nodes)[number]).app.get(Jobs), 'daily');
      await eventually(() => expect(gate.entered).toBe(2));
      gate.open();
      expect(await ticked).toBe('answer');
      // Nor does it matter that the slot has run.
      const again = other.runNow('daily');
      await eventually(() => expect(gate.entered).toBe(3));
      gate.open();
      expect(await again).toMatchObject({ ran: true, status: 'ran' });
      expect(slots).toEqual([0, LATER.getTime(), 0]);
      const history = await one.history('daily');
      expect(history.map(({ status, slot }) => [status, slot])).toEqual([
        ['ran', 0],
        ['ran', LATER.getTime()],
        ['ran', 0],
        ['skipped-held', LATER.getTime()],
        ['skipped-held', 0],
      ]);
      expect(await one.runNow('every')).toEqual({ ran: true, status: 'ran', value: 'every' });
      expect(await one.runNow('once')).toEqual({ ran: true, status: 'ran', value: 'once' });
      await expect(one.runNow('fails')).rejects.toThrow('on purpose');
      await expect(one.runNow('unknown')).rejects.toThrow(
        /This app has no job named unknown\. Its jobs: daily, every, once, fails/,
      );
    });

    it('a direct call runs the job now under the lock, and logs why it did not', async () => {
      const gate = new Gate();
      const lines = new Lines();
      @Injectable()
      class Jobs {
        constructor(private readonly locks: ScheduledLockService) {}
        @Cron(NEVER, { name: 'yearly' })
        @ScheduledLock({ name: 'yearly' })
        async yearly(one: number, other: number): Promise<string> {
          this.locks.assertHeld();
          await gate.pass();
          return `${one + other} in slot ${this.locks.current()?.slot}`;
        }
      }
      const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix(), logger: lines });
      const jobs = app.get(Jobs);
      const first = jobs.yearly(1, 2);
      await eventually(() => expect(gate.entered).toBe(1));
      expect(await jobs.yearly(3, 4)).toBeUndefined();
      expect(lines.ours).toEqual([
        expect.stringMatching(
          /^warn Job yearly was called directly and did not run, because .* holds its lock \(status skipped-held\)\. /,
        ),
      ]);
      gate.open();
      expect(await first).toBe('3 in slot 0');
      const { name, length } = Reflect.get(jobs, 'yearly');
      expect([name, length]).toEqual(['yearly', 2]);
    });

    it('fireOnTick() by hand is a tick of the latest slot, and logs each time that it did not run', async () => {
      const lines = new Lines();
      let runs = 0;
      class Jobs {
        @Cron(NEVER, { name: 'yearly' })
        @ScheduledLock({ name: 'yearly' })
        yearly(): void {
          runs++;
        }
        @Cron(NEVER)
        @ScheduledLock({ name: 'nameless' })
        nameless(): void {
          runs++;
        }
      }
      const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix(), logger: lines });
      for (const job of app.get(SchedulerRegistry).getCronJobs().values()) {
        await job.fireOnTick();
        await job.fireOnTick();
      }
      const told = (name: string): unknown[] =>
        lines.ours.filter((line) =>
          line.startsWith(
            `warn Job ${name} was fired by hand and did not run, because its scheduled time is too far from Redis' time (status stale).`,
          ),
        );
      await eventually(() => {
        expect(told('yearly')).toHaveLength(2);
        expect(told('nameless')).toHaveLength(2);
      });
      expect(told('yearly')[0]).toMatch(/runNow\('yearly'\)/);
      expect(runs).toBe(0);
    });
  },
);

it('a job may call itself, and what outlives its run may call it', async () => {
  const seen: unknown[] = [];
  @Injectable()
  class Jobs {
    later: (() => Promise<unknown>) | undefined;
    constructor(private readonly locks: ScheduledLockService) {}
    @newest.Cron(LATER)
    @ScheduledLock({ name: 'nested' })
    async nested(depth = 0): Promise<string> {
      this.locks.assertHeld();
      seen.push([depth, this.locks.current()?.slot]);
      if (depth === 0) {
        await this.nested(1);
        this.later = AsyncResource.bind(() => this.nested(2));
      }
      return `done ${depth}`;
    }
  }
  const { app } = await boot(
    { imports: [newest.ScheduleModule.forRoot()], providers: [Jobs] },
    { prefix: uniquePrefix() },
  );
  const jobs = app.get(Jobs);
  expect(await tick(jobs, 'nested')).toBe('done 0');
  expect(await jobs.later?.()).toBe('done 2');
  const slot = LATER.getTime();
  expect(seen).toEqual([
    [0, slot],
    [1, slot],
    [2, 0],
  ]);
});

it('assertHeld throws wherever the code has no lock', async () => {
  const thrown: unknown[] = [];
  const codeOf = (asserting: () => void): unknown => {
    try {
      asserting();
    } catch (error) {
      return (error as { code: string }).code;
    }
    return 'nothing';
  };
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @newest.Interval(100_000_000)
    @ScheduledLock({ name: 'job', onRedisError: 'run' })
    job(): string {
      const run = this.locks.current();
      thrown.push(
        codeOf(() => run?.assertHeld()),
        codeOf(() => this.locks.assertHeld()),
      );
      return 'ran';
    }
  }
  const proxy = await startFaultProxy(sharedRedisUrl());
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  const options = { prefix: uniquePrefix(), client, lock: { deadlineMs: 200 } };
  const { app, close } = await boot({ imports: [newest.ScheduleModule.forRoot()], providers: [Jobs] }, options);
  const service = app.get(ScheduledLockService);
  expect(codeOf(() => service.assertHeld())).toBe('LOST');
  expect(() => service.assertHeld()).toThrow(/outside of a run of a job/);
  proxy.refuse();
  expect(await tick(app.get(Jobs), 'job')).toBe('ran');
  expect(thrown.splice(0)).toEqual(['LOST', 'LOST']);
  expect(await service.runNow('job')).toMatchObject({ ran: true, status: 'redis-error', value: 'ran' });
  thrown.splice(0);
  proxy.pass();
  await eventually(async () => expect(await service.runNow('job')).toMatchObject({ ran: true, status: 'ran' }));
  expect(thrown.slice(-2)).toEqual(['nothing', 'nothing']);
  await close();
  expect(await service.runNow('job')).toEqual({ ran: false, status: 'closed' });
  await proxy.stop();
});

it('a process whose scheduler is switched off runs jobs by hand', async () => {
  class Jobs {
    @newest.Cron(NEVER)
    @ScheduledLock({ name: 'job' })
    job(): Promise<string> {
      return Promise.resolve('answer');
    }
  }
  const off = newest.ScheduleModule.forRoot({ cronJobs: false, intervals: false, timeouts: false });
  const { app } = await boot({ imports: [off], providers: [Jobs] }, { prefix: uniquePrefix() });
  expect(await app.get(ScheduledLockService).runNow('job')).toMatchObject({ ran: true, value: 'answer' });
  expect(await app.get(Jobs).job()).toBe('answer');
});

it('runNow refuses handlers', async () => {
  @Controller()
  class Routes {
    @Get()
    @UseInterceptors(ScheduledLockInterceptor)
    @ScheduledLock({ name: 'route' })
    go(): void {}
  }
  const { app } = await boot({ controllers: [Routes] }, { prefix: uniquePrefix() });
  await expect(app.get(ScheduledLockService).runNow('route')).rejects.toThrow(
    /^ScheduledLockService\.runNow: route is a handler of requests or messages/,
  );
});
