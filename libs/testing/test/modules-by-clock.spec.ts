import { LostError } from 'luanest/script-registry';
import { Injectable, Logger } from '@nestjs/common';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { DelayedTask, DelayedTaskModule, DelayedTaskService, type TaskContext } from 'luanest/delayed-task';
import { closeApps, startApp } from './app-by-clock';

const HOUR = 3_600_000;

beforeAll(() => void Logger.overrideLogger(false));
afterEach(closeApps);

describe('rate limits', () => {
  it.each(['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const)(
    'a %s ends after windowMs, on the millisecond',
    async (algorithm) => {
      const { app, clock } = await startApp([
        RateLimitModule.forRoot({ rules: [{ name: 'mail', algorithm, limit: 1, windowMs: HOUR }] }),
      ]);
      const limits = app.get(RateLimitService);
      const allowed = async (): Promise<boolean> => (await limits.consume('mail', 'ann')).allowed;
      expect(await allowed()).toBe(true);
      expect(await allowed()).toBe(false);
      await clock.advance(HOUR - 1);
      expect(await allowed()).toBe(false);
      // A sliding window still weighs the hits of the window before.
      await clock.advance(algorithm === 'sliding-window' ? HOUR + 1 : 1);
      expect(await allowed()).toBe(true);
    },
  );
});

describe('locks', () => {
  it('a lease ends and its signal fires, because no renewal ran in the jump', async () => {
    const { app, clock } = await startApp([LockModule.forRoot({ leaseMs: 30_000 })]);
    const locks = app.get(LockService);
    const lock = await locks.acquire('report');
    const { signal } = lock;
    await clock.advance(29_998);
    expect([lock.held, signal.aborted]).toEqual([true, false]);
    await clock.advance(30_000);
    expect([lock.held, signal.aborted]).toEqual([false, true]);
    expect(signal.reason).toBeInstanceOf(LostError);
    await expect(locks.tryAcquire('report')).resolves.toBeDefined();
  });

  it('a lease without renewal ends after leaseMs, on the millisecond', async () => {
    const { app, clock } = await startApp([LockModule.forRoot()]);
    const locks = app.get(LockService);
    await locks.acquire('report', { leaseMs: 10_000, renew: false });
    await clock.advance(9_999);
    await expect(locks.tryAcquire('report')).resolves.toBeUndefined();
    await clock.advance(1);
    await expect(locks.tryAcquire('report')).resolves.toBeDefined();
  });

  it('renewals run when the clock advances in steps', async () => {
    const { app, clock } = await startApp([LockModule.forRoot({ leaseMs: 30_000 })]);
    const lock = await app.get(LockService).acquire('report');
    for (let step = 0; step < 20; step++) await clock.advance(10_000);
    expect(lock.held).toBe(true);
    await expect(lock.release()).resolves.toBe('released');
  });

  it('a wait ends at waitMs, or when the lock is released', async () => {
    const { app, clock } = await startApp([LockModule.forRoot()]);
    const locks = app.get(LockService);
    const lock = await locks.acquire('report', { leaseMs: 60_000 });
    const late = locks.acquire('report', { waitMs: 1_000 });
    const refused = expect(late).rejects.toThrow('was not free within 1000 ms (waitMs)');
    await clock.advance(1_000);
    await refused;
    const next = locks.acquire('report', { waitMs: 5_000 });
    await clock.settle();
    await lock.release();
    await expect(next).resolves.toMatchObject({ held: true });
  });
});

describe('once', () => {
  it('an id can be claimed again after its lease, and after its retention', async () => {
    const { app, clock } = await startApp([OnceModule.forRoot({ maxLeaseMs: 10_000 })]);
    const once = app.get(OnceService);
    const times = { leaseMs: 10_000, retentionMs: HOUR };
    const status = async (id: string): Promise<string> => (await once.claim(id, times)).status;
    expect(await status('a')).toBe('claimed');
    await clock.advance(9_999);
    expect(await status('a')).toBe('in-progress');
    await clock.advance(1);
    expect(await status('a')).toBe('claimed');
    await once.run('b', times, () => 'result');
    await clock.advance(HOUR - 1);
    expect(await status('b')).toBe('done');
    await clock.advance(1);
    expect(await status('b')).toBe('claimed');
  });

  it('the signal of a run fires when its lease ends', async () => {
    const { app, clock } = await startApp([OnceModule.forRoot({ maxLeaseMs: 60_000 })]);
    let fired = false;
    const run = app.get(OnceService).run('a', { leaseMs: 10_000 }, async ({ signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      fired = true;
    });
    await clock.advance(9_998);
    expect(fired).toBe(false);
    await clock.advance(60_000);
    expect(fired).toBe(true);
    await run.catch(() => undefined);
  });
});

describe('civil days', () => {
  it('turn at dayStartsAt of the zone', async () => {
    const rules = { article: { limit: 1, pointsPerItem: 2, timeZone: 'Asia/Shanghai', dayStartsAt: '04:00' } };
    const { app, clock } = await startApp([ReadRewardModule.forRoot({ rules })]);
    const rewards = app.get(ReadRewardService);
    const read = async (itemId: string): Promise<string> =>
      (await rewards.record({ rule: 'article', userId: 'ann', itemId })).status;
    await clock.set(Date.UTC(2026, 1, 1, 19, 59, 59, 999));
    expect(await read('a')).toBe('rewarded');
    expect(await read('b')).not.toBe('rewarded');
    await clock.advance(1);
    expect(await read('b')).toBe('rewarded');
    await clock.set(Date.UTC(2026, 9, 1));
    expect(await read('c')).toBe('rewarded');
  });
});

const ran: string[] = [];
let failures = 0;

@Injectable()
class Orders {
  @DelayedTask('order.expire')
  expire(orderId: string, { attempt }: TaskContext): void {
    if (failures-- > 0) throw new Error('not yet');
    ran.push(`${orderId} ${attempt}`);
  }
}

describe('delayed tasks', () => {
  beforeEach(() => {
    ran.length = failures = 0;
  });

  it('become due and run', async () => {
    const { app, clock } = await startApp([DelayedTaskModule.forRoot()], [Orders]);
    await app.get(DelayedTaskService).schedule('order.expire', 'o1', { delayMs: 1_800_000 });
    await app.get(DelayedTaskService).schedule('order.expire', 'o2', { runAtMs: clock.nowMs + 7_200_000 });
    await clock.advance(1_799_999);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['o1 1']);
    await clock.advance(5_400_000);
    expect(ran).toEqual(['o1 1', 'o2 1']);
  });

  it('and limits do so also while Jest fakes timers, dates and immediates', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick'] });
    try {
      const limit = { name: 'mail', algorithm: 'fixed-window', limit: 1, windowMs: HOUR } as const;
      const imports = [DelayedTaskModule.forRoot(), RateLimitModule.forRoot({ rules: [limit] })];
      const { app, clock } = await startApp(imports, [Orders]);
      await app.get(DelayedTaskService).schedule('order.expire', 'o1', { delayMs: HOUR });
      await app.get(RateLimitService).consume('mail', 'ann');
      await expect(app.get(RateLimitService).consume('mail', 'ann')).resolves.toMatchObject({ allowed: false });
      await clock.advance(HOUR);
      expect(ran).toEqual(['o1 1']);
      await expect(app.get(RateLimitService).consume('mail', 'ann')).resolves.toMatchObject({ allowed: true });
      await closeApps();
    } finally {
      jest.useRealTimers();
    }
  });

  it('are tried again after their backoff', async () => {
    failures = 2;
    const { app, clock } = await startApp([DelayedTaskModule.forRoot()], [Orders]);
    const backoff = { delayMs: 60_000, factor: 2, maxDelayMs: HOUR };
    await app.get(DelayedTaskService).schedule('order.expire', 'o1', { attempts: 5, backoff });
    await clock.settle();
    await clock.advance(29_999);
    expect([failures, ran]).toEqual([1, []]);
    await clock.advance(30_001);
    expect([failures, ran]).toEqual([0, []]);
    await clock.advance(120_000);
    expect(ran).toEqual(['o1 3']);
  });
});
