import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Injectable, type Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import * as newest from '@nestjs/schedule';
import * as oldest from 'schedule-oldest';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { isIoredis } from '../../../test/support/client-kind';
import { ClosingApps } from '../../../test/support/closing-apps';
import type { CommandWatcher, WatchedCommand } from '../../../test/support/command-watcher';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { listen, tick, withFixed, type LockParts } from './support';

type Schedule = Pick<typeof newest, 'Cron' | 'Interval' | 'ScheduleModule'>;
const versions: [string, Schedule][] = [
  ['newest', newest],
  ['oldest', oldest as unknown as Schedule],
];
const LEASE_MS = 60_000;
const ended = (status: string): boolean => ['ran', 'lost', 'failed'].includes(status);

let apps: ClosingApps;
let watcher: CommandWatcher;

beforeAll(async () => {
  apps = await ClosingApps.open();
  ({ watcher } = apps);
});
beforeEach(() => watcher.clear());
afterAll(() => apps.close());

const start = (jobs: Type, { ScheduleModule }: Schedule, prefix: string, lock: LockParts): Promise<TestingModule> =>
  withFixed(lock, (options) =>
    apps.start(prefix, {
      imports: [ScheduledLockModule.forRoot({ namespace: 'default', ...options }), ScheduleModule.forRoot()],
      providers: [jobs],
    }),
  );

describe.each(versions)('app.close() in the middle of a job, on the %s @nestjs/schedule', (_, schedule) => {
  const { Interval } = schedule;

  it.each([
    ['awaits the job that ends in time', 'ran', 30_000],
    ['aborts the job that does not', 'lost', 50],
    ['gives the lock of a job back that does not heed the signal', 'deaf', 50],
  ])('%s, and another node runs at once', async (_title, how, drainMs) => {
    const gate = new Gate();
    const began: { node: string; at: number; fence: number }[] = [];
    let aborted = 0;
    const jobsOf = (node: string) => {
      @Injectable()
      class Jobs {
        constructor(private readonly locks: ScheduledLockService) {}
        @ScheduledLock({ name: 'job', leaseMs: LEASE_MS })
        @Interval(20)
        async job(): Promise<void> {
          const run = this.locks.current();
          began.push({ node, at: Date.now(), fence: run?.fence ?? 0 });
          if (node !== 'one') return;
          run?.signal.addEventListener('abort', () => {
            aborted++;
            if (how === 'lost') gate.open();
          });
          await gate.pass();
        }
      }
      return Jobs;
    };
    const prefix = uniquePrefix();
    const told = listen();
    const failures: unknown[] = [];
    const onFailure = (event: unknown): void => void failures.push(event);
    subscribe(ScriptRegistryEvents.callFailed, onFailure);
    // No call may fail, also not where Redis stands still for a while.
    const deadlineMs = 20_000;
    const lock = { drainMs, deadlineMs, historySize: 1_000, abortGraceMs: how === 'deaf' ? 50 : 30_000 };
    const one = await start(jobsOf('one'), schedule, prefix, { node: 'one', ...lock });
    await eventually(() => expect(gate.entered).toBe(1));
    const other = await start(jobsOf('other'), schedule, prefix, { node: 'other', deadlineMs, historySize: 1_000 });

    const closing = one.close();
    if (how === 'ran') {
      // It waits: the other node is still refused.
      const refused = (): number => told.events.filter(({ node, status }) => node === 'other' && !ended(status)).length;
      const before = refused();
      await eventually(() => expect(refused()).toBeGreaterThan(before + 1));
      expect(began).toHaveLength(1);
      gate.open();
    }
    await closing;
    const closedAt = Date.now();
    await eventually(() => expect(began.some(({ node }) => node === 'other')).toBe(true));
    const takenOver = began.find(({ node }) => node === 'other');
    const end = told.events.find(({ node, status }) => node === 'one' && ended(status));
    // The lease would have lasted for a minute; the number is printed for readers.
    const waitedMs = (takenOver?.at ?? Infinity) - (how === 'deaf' ? closedAt : (end?.recordedAtMs ?? -Infinity));
    process.stdout.write(`    another node ran ${waitedMs} ms after the release\n`);
    expect(waitedMs).toBeLessThan(LEASE_MS / 6);
    expect(takenOver?.fence).toBeGreaterThan(began[0]?.fence as number);
    expect(began.filter(({ node }) => node === 'one')).toHaveLength(1);
    expect(aborted).toBe(how === 'ran' ? 0 : 1);
    expect(end?.status).toBe(how === 'deaf' ? undefined : how);
    const history = await other.get(ScheduledLockService).history('job');
    expect(history.find(({ node, status }) => node === 'one' && ended(status))?.status).toBe(
      how === 'ran' ? 'ran' : 'lost',
    );
    gate.open();
    await other.close();
    unsubscribe(ScriptRegistryEvents.callFailed, onFailure);
    told.stop();
    expect(failures).toEqual([]);
    expect(apps.unhandled).toEqual([]);
  });

  it('lets no tick begin, and sends nothing once its connection was closed', async () => {
    const gate = new Gate();
    let runs = 0;
    @Injectable()
    class Jobs {
      @ScheduledLock({ name: 'often', catchUpWithinMs: 60_000, leaseMs: 200 })
      @Interval(10)
      often(): void {
        runs++;
      }
      @ScheduledLock({ name: 'long', leaseMs: 4_500 })
      @Interval(10)
      async long(): Promise<void> {
        await gate.pass();
      }
    }
    const failures: unknown[] = [];
    const onFailure = (event: unknown): void => void failures.push(event);
    subscribe(ScriptRegistryEvents.callFailed, onFailure);
    const told = listen();
    const prefix = uniquePrefix();
    const app = await start(Jobs, schedule, prefix, { drainMs: 30_000, deadlineMs: 20_000 });
    const jobs = app.get(Jobs);
    await eventually(() => expect(runs).toBeGreaterThan(3));
    await eventually(() => expect(gate.entered).toBe(1));
    const closing = app.close();
    const atClose = runs;
    await tick(jobs, 'often');
    await tick(jobs, 'often');
    await new Promise(setImmediate);
    // Two had begun at most: one whose claim was on its way, and one that waited behind it for Redis.
    expect(runs).toBeLessThanOrEqual(atClose + 2);
    const begun = runs;
    const mine = (): WatchedCommand[] => watcher.sentBesides(prefix);
    // The job that is awaited is renewed meanwhile, which writes nothing but when its lease ends.
    const renewals = (): number =>
      mine().filter(({ args }) => args.length === 4 && /^hset .*:long\}:state till /i.test(args.join(' '))).length;
    const renewed = renewals();
    await eventually(() => expect(renewals()).toBeGreaterThan(renewed));
    // More than a second has passed, of ticks at each 10 ms.
    expect(runs).toBe(begun);
    expect(mine().filter(({ args: [name] }) => /^quit$/i.test(name as string))).toEqual([]);
    gate.open();
    await closing;
    const outcomes = told.events.length;
    // New calls are refused, and nothing is sent.
    const last = (): string | undefined => mine().at(-1)?.args.join(' ').toLowerCase();
    await eventually(() => expect(last() === 'quit').toBe(isIoredis));
    const sent = watcher.commands.length;
    await tick(jobs, 'often');
    await tick(jobs, 'long');
    await sleep(200);
    expect(watcher.commands.slice(sent)).toEqual([]);
    expect(last() === 'quit').toBe(isIoredis);
    expect(told.events.length).toBe(outcomes);
    expect(told.events.filter(({ status }) => status === 'redis-error')).toEqual([]);
    told.stop();
    unsubscribe(ScriptRegistryEvents.callFailed, onFailure);
    expect(failures).toEqual([]);
    expect(apps.unhandled).toEqual([]);
  });
});
