import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Injectable, type Type } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { LockEvents } from 'luanest/lock';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { itResending } from '../../../test/support/client-kind';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import { excused, quickPulse } from './stalls';
import { boot, closeAll, LATER, listen, tick, untilAborted, type Booted, type LockParts } from './support';

let server: RedisServer;
let proxy: FaultProxy;
let admin: Redis;
let prefix: string;

beforeAll(async () => {
  server = await startRedis();
  proxy = await startFaultProxy(server);
  admin = quiet(new Redis(server.url));
});
beforeEach(() => {
  prefix = uniquePrefix();
});
afterEach(async () => {
  server.resume();
  proxy.pass();
  await closeAll();
});
afterAll(async () => {
  admin.disconnect();
  await proxy.stop();
  await server.stop();
});

/** Two nodes of one app; the first speaks through the proxy. */
async function twoNodes(jobs: Type, lock: LockParts): Promise<[Booted, Booted]> {
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [jobs] };
  const through = (url: string, node: string): Promise<Booted> => {
    const client = quiet(new Redis(url, { retryStrategy: () => 20 }));
    return boot(metadata, { prefix, client, lock: { node, ...lock } });
  };
  return [await through(proxy.url, 'one'), await through(server.url, 'other')];
}

const stateOf = (job: string): string => `${prefix}:scheduled-lock:{default:${job}}:state`;

/** Returns true for a claim: no other script has an argument `mode`. */
const claims = (request: string): boolean => /evalsha/i.test(request) && request.includes('tick');

itResending('the reply to a claim is lost: its node runs the slot, once, and holds no lock afterwards', async () => {
  const runs: string[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'job' })
    job(): void {
      runs.push(`slot ${this.locks.current()?.slot}`);
    }
  }
  const [one, other] = await twoNodes(Jobs, { deadlineMs: 20_000 });
  const cut = proxy.dropReply({ when: claims });
  const [first] = await Promise.all([tick(one.app.get(Jobs), 'job'), cut]);
  expect(first).toBeUndefined();
  expect(runs).toEqual([`slot ${LATER.getTime()}`]);
  await tick(other.app.get(Jobs), 'job');
  expect(runs).toHaveLength(1);
  const [till, done] = await admin.hmget(stateOf('job'), 'till', 'done');
  expect(done).toBe('1');
  expect(Number(till)).toBeLessThanOrEqual(Date.now());
  const history = await other.app.get(ScheduledLockService).history('job');
  expect(history.map(({ status, node }) => `${status} on ${node}`)).toEqual(['skipped-slot on other', 'ran on one']);
});

it('the reply is lost, and Redis with it: the slot is given back to the other node as soon as Redis is there', async () => {
  const runs: string[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'job' })
    job(): void {
      runs.push(`fence ${this.locks.current()?.fence}`);
    }
  }
  const [one, other] = await twoNodes(Jobs, { deadlineMs: 300 });
  proxy.delay(500);
  const told = listen();
  await tick(one.app.get(Jobs), 'job');
  expect(told.of('job')).toEqual(['redis-error']);
  expect(runs).toEqual([]);
  proxy.pass();
  // The claim came to Redis after its node had given up, and is taken back; far sooner than its lease of 30 s ends.
  await eventually(async () => expect(await admin.hget(stateOf('job'), 'done')).toBe('1'));
  await eventually(async () => {
    await tick(other.app.get(Jobs), 'job');
    expect(runs).toHaveLength(1);
  });
  told.stop();
});

it('Redis is paused: what waited for it too long does not run, nothing runs twice, and no lock is left', async () => {
  const slots: number[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron('* * * * * *')
    @ScheduledLock({ name: 'cron' })
    cron(): void {
      slots.push(this.locks.current()?.slot ?? 0);
    }
  }
  const told = listen();
  const [one] = await twoNodes(Jobs, { deadlineMs: 400, staleAfterMs: 1_000, leaseMs: 600_000 });
  await eventually(() => expect(slots.length).toBeGreaterThan(0));
  server.pause();
  const errors = (): number => told.of('cron').filter((status) => status === 'redis-error').length;
  // Two nodes, so three seconds.
  await eventually(() => expect(errors()).toBeGreaterThanOrEqual(6), { timeoutMs: 20_000 });
  const before = slots.length;
  server.resume();
  // It runs again although a lock would last for ten minutes.
  await eventually(() => expect(slots.length).toBeGreaterThan(before + 1), { timeoutMs: 20_000 });
  expect([...new Set(slots)]).toEqual(slots);
  // What both nodes had given up, nobody ran.
  const failed = told.events.filter(({ status }) => status === 'redis-error').map(({ slot }) => slot);
  const givenUp = failed.filter((slot, i) => failed.indexOf(slot) < i);
  expect(givenUp.length).toBeGreaterThan(0);
  expect(slots.filter((slot) => givenUp.includes(slot))).toEqual([]);
  const history = await one.app.get(ScheduledLockService).history('cron');
  expect(history.filter(({ status }) => status === 'lost')).toEqual([]);
  told.stop();
});

it('the connection is reset again and again during renewals: the lease holds, and nobody else runs', async () => {
  const gate = new Gate();
  const fences: (number | undefined)[] = [];
  const aborted: unknown[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(50)
    @ScheduledLock({ name: 'long', leaseMs: 4_500 })
    async long(): Promise<void> {
      const run = this.locks.current();
      fences.push(run?.fence);
      run?.signal.addEventListener('abort', () => aborted.push(run.signal.reason));
      await gate.pass();
      run?.assertHeld();
    }
  }
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  // All that ends while Redis or this process stands still is reported at once: the expected entry must still be there.
  const lock = { historySize: 1_000, deadlineMs: 20_000 };
  const one = await boot(metadata, { prefix, client, lock: { node: 'one', ...lock } });
  await eventually(() => expect(gate.entered).toBe(1));
  const direct = quiet(new Redis(server.url));
  const other = await boot(metadata, { prefix, client: direct, lock: { node: 'other', ...lock } });
  const renewals = async (): Promise<number> => Number(await admin.hget(stateOf('long'), 'till'));
  const isRenewal = (request: string): boolean =>
    request.includes(stateOf('long')) && !request.includes('tick') && !request.includes('ran');
  const started = await renewals();
  for (let cuts = 0; cuts < 3; cuts++) {
    const before = await renewals();
    await proxy.dropReply({ when: isRenewal });
    await eventually(async () => expect(await renewals()).toBeGreaterThan(before));
  }
  expect(await renewals()).toBeGreaterThan(started);
  expect(gate.entered).toBe(1);
  expect(aborted).toEqual([]);
  const history = await other.app.get(ScheduledLockService).history('long');
  expect(history.filter(({ status }) => status !== 'skipped-held' && status !== 'skipped-slot')).toEqual([]);
  gate.open();
  await eventually(async () => {
    const outcomes = await one.app.get(ScheduledLockService).history('long');
    expect(outcomes.map(({ status }) => status)).toContain('ran');
  });
  // The next has a greater fence.
  await eventually(() => expect(fences.length).toBeGreaterThan(1));
  expect(fences[1]).toBeGreaterThan(fences[0] as number);
  const opener = setInterval(() => gate.open(), 5);
  await closeAll();
  clearInterval(opener);
});

it('renewals fail until the lease is over: the signal fires, the run is lost, and the other node takes over', async () => {
  const ended: string[] = [];
  let running = false;
  let errors = 0;
  const onError = (): void => void errors++;
  subscribe(LockEvents.callFailed, onError);
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(50)
    @ScheduledLock({ name: 'cut', leaseMs: 3_000 })
    async cut(): Promise<void> {
      const run = this.locks.current();
      if (!run || ended.length > 0) return;
      running = true;
      await untilAborted(run.signal);
      ended.push((run.signal.reason as { code: string }).code);
      expect(() => run.assertHeld()).toThrow(expect.objectContaining({ code: 'LOST' }) as Error);
    }
  }
  const told = listen();
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const client = quiet(new Redis(proxy.url, { retryStrategy: () => 20 }));
  await boot(metadata, { prefix, client, lock: { node: 'one', deadlineMs: 200 }, registry: { deadlineMs: 500 } });
  await eventually(() => expect(running).toBe(true));
  proxy.refuse();
  await eventually(() => expect(ended).toEqual(['LOST']));
  await boot(metadata, { prefix, client: quiet(new Redis(server.url)), lock: { node: 'other' } });
  await eventually(() =>
    expect(told.events).toContainEqual(expect.objectContaining({ name: 'cut', node: 'other', status: 'ran' })),
  );
  const toldOfOne = (): string[] => told.events.filter(({ node }) => node === 'one').map(({ status }) => status);
  await eventually(() => expect(toldOfOne()).toEqual(expect.arrayContaining(['redis-error', 'lost'])));
  expect(errors).toBeGreaterThan(0);
  unsubscribe(LockEvents.callFailed, onError);
  told.stop();
});

it('SCRIPT FLUSH loses no tick and no lock', async () => {
  const slots: number[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(100)
    @ScheduledLock({ name: 'every' })
    async every(): Promise<void> {
      await admin.script('FLUSH');
      slots.push(this.locks.current()?.slot ?? 0);
      this.locks.current()?.assertHeld();
    }
  }
  const told = listen();
  const pulse = quickPulse(server.url);
  await twoNodes(Jobs, { deadlineMs: 20_000 });
  await eventually(() => expect(slots.length).toBeGreaterThan(9));
  const usual = ['ran', 'skipped-slot', 'skipped-held'];
  expect(told.events.filter(({ status }) => !usual.includes(status))).toEqual([]);
  expect([...new Set(slots)].sort((a, b) => a - b)).toEqual(slots);
  await eventually(() => {
    const fired = new Set(told.events.map(({ slot }) => slot));
    for (const slot of slots) fired.delete(slot);
    expect([...fired].filter((slot) => !excused(pulse.stalls, slot, 100))).toEqual([]);
  });
  await pulse.stop();
  told.stop();
});
