import {
  Catch,
  ConsoleLogger,
  ForbiddenException,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { tap, type Observable } from 'rxjs';
import {
  ScheduledLock,
  ScheduledLockModule,
  ScheduledLockService,
  ScheduledLockSetupError,
  type ScheduledRun,
} from 'luanest/scheduled-lock';
import { ScriptRegistryModule, type ScriptRegistry, getScriptRegistryToken } from 'luanest/script-registry';
import { FaultProxy } from '../../../test/support/fault-proxy';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet, standaloneClient } from '../../script-registry/test/support';
import { claimRun } from '../src/scheduled-lock.scripts';
import { boot, closeAll, Gate, LATER, listen, STALE_NEVER, tick } from './support';

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
    @ScheduledLock({ staleAfterMs: STALE_NEVER })
    answer(one: number, other: number): string {
      const run = this.locks.current();
      run?.assertHeld();
      this.runs.push(run);
      return `${this.mine} ${one + other}`;
    }
    @ScheduledLock({ staleAfterMs: STALE_NEVER })
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
  expect(() => run?.assertHeld()).toThrow(/was released/);
  expect(service.current()).toBeUndefined();
  await expect(tick(jobs, 'fail')).rejects.toThrow('as it was thrown');
  const [failed] = await service.history('Jobs.fail');
  expect(failed).toMatchObject({ outcome: 'failed', slot: LATER.getTime(), node: 'n1' });
  expect([...service.names].sort()).toEqual(['Jobs.answer', 'Jobs.fail']);
  await expect(service.history('none')).rejects.toThrow(ScheduledLockSetupError);
  const { name, length } = Reflect.get(jobs, 'answer');
  expect([name, length]).toEqual(['answer', 2]);
});

it('the history has each outcome, the newest first, and is bounded', async () => {
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'once', staleAfterMs: STALE_NEVER })
    once(): void {}
    @Cron(LATER)
    @ScheduledLock({ name: 'stale' })
    stale(): void {}
    @Interval(100_000_000)
    @ScheduledLock({ name: 'fails' })
    fails(): void {
      throw new Error('on purpose');
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'loses', staleAfterMs: STALE_NEVER, lockAtMostForMs: 100 })
    async loses(): Promise<void> {
      const signal = this.locks.current()?.signal;
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    }
  }
  const prefix = uniquePrefix();
  const { app, client } = await boot({ imports, providers: [Jobs] }, { prefix, lock: { historySize: 3 } });
  const jobs = app.get(Jobs);
  const service = app.get(ScheduledLockService);
  const outcomes = async (name: string) => (await service.history(name)).map(({ outcome }) => outcome);

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

it('a tick of an interval that meets the run of an earlier period waits for its end, within its own period', async () => {
  const gate = new Gate();
  @Injectable()
  class Jobs {
    @Interval(60_000_000)
    @ScheduledLock({ name: 'long' })
    async long(): Promise<void> {
      await gate.pass();
    }
  }
  const prefix = uniquePrefix();
  const { app, client } = await boot({ imports, providers: [Jobs] }, { prefix });
  const first = tick(app.get(Jobs), 'long');
  await eventually(() => expect(gate.entered).toBe(1));
  // As if its run were one of an earlier period, which is over; the tick waits for its end within its own.
  await client.hincrby(`${prefix}:scheduled-lock:{default:long}:state`, 'slot', -60_000_000);
  const second = tick(app.get(Jobs), 'long');
  gate.open();
  await first;
  await eventually(() => expect(gate.entered).toBe(2));
  gate.open();
  await second;
  const history = await app.get(ScheduledLockService).history('long');
  expect(history.map(({ outcome }) => outcome)).toEqual(['ran', 'ran']);
});

it('lockAtLeastForMs keeps the lock of a job that was quick', async () => {
  const slots: number[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(20)
    @ScheduledLock({ name: 'quick', lockAtLeastForMs: 300 })
    quick(): void {
      slots.push(this.locks.current()?.slot ?? 0);
    }
  }
  const prefix = uniquePrefix();
  const nodes = await Promise.all([1, 2].map(() => boot({ imports, providers: [Jobs] }, { prefix })));
  await eventually(() => expect(slots.length).toBeGreaterThan(3));
  // A claim comes within its slot, which begins at most a period before it.
  slots.slice(1).forEach((slot, i) => expect(slot - (slots[i] as number)).toBeGreaterThanOrEqual(280));
  const history = await nodes[0]?.app.get(ScheduledLockService).history('quick');
  expect(history?.map(({ outcome }) => outcome)).toContain('skipped-held');
});

it('a slot whose run died is run by another node, once, and within its time only', async () => {
  const runs: [string, number | undefined][] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'caught', catchUpWithinMs: 60_000, lockAtMostForMs: 200 })
    caught(): void {
      runs.push(['caught', this.locks.current()?.slot]);
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'late', catchUpWithinMs: 1_000, lockAtMostForMs: 200 })
    late(): void {
      runs.push(['late', this.locks.current()?.slot]);
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'done', catchUpWithinMs: 60_000, lockAtMostForMs: 200, staleAfterMs: STALE_NEVER })
    done(): void {
      runs.push(['done', this.locks.current()?.slot]);
    }
  }
  const prefix = uniquePrefix();
  const nodes = await Promise.all([1, 2].map(() => boot({ imports, providers: [Jobs] }, { prefix })));
  const [{ app }] = nodes as [(typeof nodes)[number]];
  await tick(app.get(Jobs), 'done');
  const registry = app.get<ScriptRegistry>(getScriptRegistryToken());
  const dies = async (name: string, slot: number) => {
    const tag = registry.keySpace('scheduled-lock').tag(`default:${name}`);
    const args = { owner: 'dead', node: 'dead', mode: 'tick', slot, periodMs: 0, staleMs: 60_000, leaseMs: 100 };
    const keys = { state: tag.key('state'), history: tag.key('history') };
    return registry.run(claimRun, { keys, args: { ...args, retentionMs: 60_000, keep: 50 } });
  };
  const slot = Math.floor(Date.now() / 1_000) * 1_000;
  expect((await dies('late', slot - 30_000)).outcome).toBe('ran');
  expect((await dies('caught', slot)).outcome).toBe('ran');
  await eventually(() => expect(runs.map(([name]) => name)).toContain('caught'));
  // Others look as often as before, and see that it was done.
  const seen = (await app.get(ScheduledLockService).history('caught')).length;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(runs).toEqual([
    ['done', LATER.getTime()],
    ['caught', slot],
  ]);
  expect((await app.get(ScheduledLockService).history('caught')).length).toBe(seen);
});

it('interceptors, guards and filters run where enhancers are asked for, with context type cron', async () => {
  const seen: string[] = [];
  @Injectable()
  class Watch implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      seen.push(`interceptor ${context.getType<string>()} ${context.getClass().name}.${context.getHandler().name}`);
      return next.handle().pipe(tap((value) => seen.push(`answer ${String(value)}`)));
    }
  }
  @Injectable()
  class Bouncer implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      seen.push(`guard ${context.getType<string>()}`);
      return context.getHandler().name !== 'denied';
    }
  }
  @Catch()
  class Net implements ExceptionFilter {
    catch(error: Error, host: ArgumentsHost): string {
      seen.push(`filter ${host.getType<string>()} ${error.message}`);
      return 'caught';
    }
  }
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @UseInterceptors(Watch)
    @UseGuards(Bouncer)
    @Cron(LATER)
    @ScheduledLock({ name: 'with', enhancers: true, staleAfterMs: STALE_NEVER })
    with(): string {
      return `slot ${this.locks.current()?.slot}`;
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'denied', enhancers: true, staleAfterMs: STALE_NEVER })
    @UseGuards(Bouncer)
    denied(): void {
      seen.push('not denied');
    }
    @ScheduledLock({ name: 'broken', enhancers: true, staleAfterMs: STALE_NEVER })
    @Cron(LATER)
    @UseFilters(Net)
    broken(): void {
      throw new Error('torn');
    }
    @UseInterceptors(Watch)
    @Cron(LATER)
    @ScheduledLock({ name: 'without', staleAfterMs: STALE_NEVER })
    without(): void {
      seen.push('without');
    }
  }
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix() });
  const jobs = app.get(Jobs);
  const service = app.get(ScheduledLockService);
  const outcome = async (name: string) => (await service.history(name))[0]?.outcome;
  const answer = `slot ${LATER.getTime()}`;
  expect(await tick(jobs, 'with')).toBe(answer);
  expect(seen.splice(0)).toEqual(['guard cron', 'interceptor cron Jobs.with', `answer ${answer}`]);
  await expect(tick(jobs, 'denied')).rejects.toThrow(ForbiddenException);
  expect(seen.splice(0)).toEqual(['guard cron']);
  expect(await outcome('denied')).toBe('failed');
  await tick(jobs, 'broken');
  expect(seen.splice(0)).toEqual(['filter cron torn']);
  expect(await outcome('broken')).toBe('ran');
  await tick(jobs, 'without');
  expect(seen).toEqual(['without']);
});

it('while Redis is away a job is skipped, or runs unlocked on every node; both are told', async () => {
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
      const run = this.locks.current();
      run?.assertHeld();
      runs.push(`runs with fence ${run?.fence}`);
      return 'answer';
    }
  }
  const proxy = await FaultProxy.start({ targetPort: Number(new URL(sharedRedisUrl()).port) });
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  const told = listen();
  const prefix = uniquePrefix();
  const { app, close } = await boot({ imports, providers: [Jobs] }, { prefix, client, lock: { redisTimeoutMs: 200 } });
  proxy.refuse();
  expect(await tick(app.get(Jobs), 'skips')).toBeUndefined();
  expect(await tick(app.get(Jobs), 'runs')).toBe('answer');
  expect(runs).toEqual(['runs with fence 0']);
  expect(told.events.map(({ name, outcome }) => [name, outcome])).toEqual([
    ['skips', 'redis-error'],
    ['runs', 'redis-error'],
  ]);
  expect(told.events[0]?.error).toBeInstanceOf(Error);
  proxy.pass();
  const history = await eventually(() => app.get(ScheduledLockService).history('skips'));
  expect(history.map(({ outcome }) => outcome)).toEqual(['redis-error']);
  // The slot was not used up.
  await tick(app.get(Jobs), 'skips');
  expect(runs).toEqual(['runs with fence 0', 'skips']);
  told.stop();
  await close();
  await proxy.stop();
});

it('slots are instants of the zone or offset of @Cron, as the scheduler itself sees them', async () => {
  const lock = { staleAfterMs: 2 * DAY_MS };
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    private slot(): number {
      return this.locks.current()?.slot ?? 0;
    }
    @ScheduledLock(lock)
    @Cron('0 0 3 * * *', { name: 'tokyo', timeZone: 'Asia/Tokyo' })
    tokyo(): number {
      return this.slot();
    }
    @ScheduledLock(lock)
    @Cron('0 0 3 * * *', { name: 'ahead', utcOffset: 330 })
    ahead(): number {
      return this.slot();
    }
    @ScheduledLock(lock)
    @Cron('0 0 3 * * *', { name: 'behind', utcOffset: -90 })
    behind(): number {
      return this.slot();
    }
    @ScheduledLock(lock)
    @Cron('0 0 3 * * *', { name: 'little', utcOffset: 30 })
    little(): number {
      return this.slot();
    }
  }
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix() });
  const latest = (hour: number, minute: number): number => {
    const ofDay = (hour * 60 + minute) * 60_000;
    return Math.floor((Date.now() - ofDay) / DAY_MS) * DAY_MS + ofDay;
  };
  const jobs = app.get(Jobs);
  expect(await tick(jobs, 'tokyo')).toBe(latest(18, 0));
  expect(await tick(jobs, 'ahead')).toBe(latest(21, 30));
  expect(await tick(jobs, 'behind')).toBe(latest(4, 30));
  expect(await tick(jobs, 'little')).toBe(latest(2, 30));
});

it('losers log nothing', async () => {
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
        imports: [...imports, ScriptRegistryModule.forRoot({ client, prefix }), ScheduledLockModule.forRoot({})],
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
    expect(told.of('often').filter((outcome) => outcome === 'skipped-slot').length).toBeGreaterThan(3),
  );
  expect(lines).toEqual([]);
  told.stop();
  for (const { app, client } of apps) {
    await app.close();
    client.disconnect();
  }
});
