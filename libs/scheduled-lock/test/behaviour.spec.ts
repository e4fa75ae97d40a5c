import { ConsoleLogger, Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService, type ScheduledRun } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { startFaultProxy } from 'luanest/testing/servers';
import { SetupError } from '../../internal/src';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet, standaloneClient } from '../../script-registry/test/support';
import { boot, closeAll, LATER, listen, tick, untilAborted } from './support';

const imports = [ScheduleModule.forRoot()];
const DAY_MS = 86_400_000;

afterEach(closeAll);

it('a call keeps this, arguments, the answer and the error; the run has its lock', async () => {
  @Injectable()
  class Jobs {
    private readonly mine = 'mine';
    readonly runs: (ScheduledRun | undefined)[] = [];
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock()
    answer(one: number, other: number): string {
      const run = this.locks.current();
      run?.assertHeld();
      this.runs.push(run);
      return `${this.mine} ${one + other}`;
    }
    @ScheduledLock()
    @Cron(LATER)
    async fail(): Promise<void> {
      await Promise.resolve();
      throw new Error('as it was thrown');
    }
  }
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix(), lock: { node: 'n1' } });
  const jobs = app.get(Jobs);
  const service = app.get(ScheduledLockService);
  expect(await tick(jobs, 'answer', 1, 2)).toBe('mine 3');
  // Its slot has run.
  expect(await tick(jobs, 'answer', 1, 2)).toBeUndefined();
  const [run] = jobs.runs;
  expect(run).toMatchObject({ name: 'Jobs.answer', slot: LATER.getTime() });
  expect(run?.fence).toBeGreaterThan(0);
  expect(run?.signal.aborted).toBe(false);
  expect(() => run?.assertHeld()).toThrow(/its release has begun/);
  expect(service.current()).toBeUndefined();
  await expect(tick(jobs, 'fail')).rejects.toThrow('as it was thrown');
  const [failed] = await service.history('Jobs.fail');
  expect(failed).toMatchObject({ status: 'failed', slot: LATER.getTime(), node: 'n1' });
  expect([...service.names].sort()).toEqual(['Jobs.answer', 'Jobs.fail']);
  await expect(service.history('none')).rejects.toThrow(SetupError);
  const { name, length } = Reflect.get(jobs, 'answer');
  expect([name, length]).toEqual(['answer', 2]);
});

it('the history has each status, the newest first, up to historySize', async () => {
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'once' })
    once(): void {}
    @Cron(new Date(LATER.getTime() + DAY_MS))
    @ScheduledLock({ name: 'stale' })
    stale(): void {}
    @Interval(100_000_000)
    @ScheduledLock({ name: 'fails' })
    fails(): void {
      throw new Error('on purpose');
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'loses', leaseMs: 600 })
    async loses(): Promise<void> {
      await untilAborted((this.locks.current() as ScheduledRun).signal);
    }
  }
  const prefix = uniquePrefix();
  const { app, client } = await boot({ imports, providers: [Jobs] }, { prefix, lock: { historySize: 3 } });
  const jobs = app.get(Jobs);
  const service = app.get(ScheduledLockService);
  const outcomes = async (name: string) => (await service.history(name)).map(({ status }) => status);

  for (let i = 0; i < 3; i++) await tick(jobs, 'once');
  expect(await outcomes('once')).toEqual(['skipped-slot', 'skipped-slot', 'ran']);
  await tick(jobs, 'once');
  expect(await outcomes('once')).toEqual(['skipped-slot', 'skipped-slot', 'skipped-slot']);
  await tick(jobs, 'stale');
  expect(await outcomes('stale')).toEqual(['stale']);
  await expect(tick(jobs, 'fails')).rejects.toThrow('on purpose');
  expect(await outcomes('fails')).toEqual(['failed']);
  const losing = tick(jobs, 'loses');
  // Its renewal finds it gone.
  await eventually(async () => expect(await client.del(`${prefix}:scheduled-lock:{default:loses}:state`)).toBe(1));
  await losing;
  expect(await outcomes('loses')).toEqual(['lost']);
});

it('while Redis is unavailable a job is skipped, or runs without a lock on every node; both are reported', async () => {
  const runs: string[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(100_000_000)
    @ScheduledLock({ name: 'skips' })
    skips(): void {
      runs.push('skips');
    }
    @Interval(100_000_000)
    @ScheduledLock({ name: 'runs', onRedisError: 'run' })
    runs(): string {
      runs.push(`runs with fence ${this.locks.current()?.fence}`);
      return 'answer';
    }
  }
  const proxy = await startFaultProxy(sharedRedisUrl());
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  const told = listen();
  const prefix = uniquePrefix();
  const { app, close } = await boot({ imports, providers: [Jobs] }, { prefix, client, lock: { deadlineMs: 200 } });
  proxy.refuse();
  expect(await tick(app.get(Jobs), 'skips')).toBeUndefined();
  expect(await tick(app.get(Jobs), 'runs')).toBe('answer');
  expect(runs).toEqual(['runs with fence 0']);
  expect(told.events.map(({ name, status }) => [name, status])).toEqual([
    ['skips', 'redis-error'],
    ['runs', 'redis-error'],
  ]);
  expect(told.events[0]?.error).toBeInstanceOf(Error);
  proxy.pass();
  const history = await eventually(() => app.get(ScheduledLockService).history('skips'));
  expect(history.map(({ status }) => status)).toEqual(['redis-error']);
  // The slot was not used up, nor is it by a Redis that is slower than the timeout.
  await eventually(async () => {
    await tick(app.get(Jobs), 'skips');
    expect(runs).toEqual(['runs with fence 0', 'skips']);
  });
  told.stop();
  await close();
  await proxy.stop();
});

it('slots are instants of the zone or offset of @Cron, as the scheduler itself sees them', async () => {
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    private slot(): number {
      return this.locks.current()?.slot ?? 0;
    }
    @ScheduledLock()
    @Cron('0 0 3 * * *', { name: 'tokyo', timeZone: 'Asia/Tokyo' })
    tokyo(): number {
      return this.slot();
    }
    @ScheduledLock()
    @Cron('0 0 3 * * *', { name: 'ahead', utcOffset: 330 })
    ahead(): number {
      return this.slot();
    }
    @ScheduledLock()
    @Cron('0 0 3 * * *', { name: 'behind', utcOffset: -90 })
    behind(): number {
      return this.slot();
    }
    @ScheduledLock()
    @Cron('0 0 3 * * *', { name: 'little', utcOffset: 30 })
    little(): number {
      return this.slot();
    }
  }
  const lock = { staleAfterMs: 2 * DAY_MS };
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix(), lock });
  const latest = (hour: number, minute: number): number => {
    const ofDay = (hour * 60 + minute) * 60_000;
    return Math.floor((Date.now() - ofDay) / DAY_MS) * DAY_MS + ofDay;
  };
  const jobs = app.get(Jobs);
  const expectSlot = async (name: keyof Jobs, hour: number, minute: number): Promise<void> => {
    // That instant may come meanwhile.
    const before = latest(hour, minute);
    const slot = await tick(jobs, name);
    expect([before, latest(hour, minute)]).toContain(slot);
  };
  await expectSlot('tokyo', 18, 0);
  await expectSlot('ahead', 21, 30);
  await expectSlot('behind', 4, 30);
  await expectSlot('little', 2, 30);
});

it('a tick that did not get its slot logs nothing', async () => {
  const lines: unknown[] = [];
  const logger = new ConsoleLogger();
  for (const level of ['log', 'warn', 'error', 'fatal'] as const)
    logger[level] = (...all: unknown[]) => lines.push(all);
  @Injectable()
  class Jobs {
    @Interval(100)
    @ScheduledLock({ name: 'often' })
    often(): void {}
  }
  const prefix = uniquePrefix();
  const told = listen();
  const apps = await Promise.all(
    [1, 2].map(async () => {
      const client = standaloneClient();
      const app = await Test.createTestingModule({
        imports: [
          ...imports,
          ScriptRegistryModule.forRoot({ client, prefix }),
          ScheduledLockModule.forRoot({ namespace: 'default' }),
        ],
        providers: [Jobs],
      })
        .setLogger(logger)
        .compile();
      await app.init();
      return { app, client };
    }),
  );
  lines.splice(0);
  await eventually(() =>
    expect(told.of('often').filter((status) => status === 'skipped-slot').length).toBeGreaterThan(3),
  );
  expect(lines).toEqual([]);
  told.stop();
  for (const { app, client } of apps) {
    await app.close();
    client.disconnect();
  }
});
