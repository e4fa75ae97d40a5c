import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { LockModule, LockService, type Lock, type LockModuleOptions } from 'luanest/lock';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { ClosingApps } from '../../../test/support/closing-apps';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';

const LONG_MS = 30_000;

describe('app.close() while locks are held', () => {
  let apps: ClosingApps;
  let other: Bench;
  let prefix: string;
  let gate: Gate;
  const steps: string[] = [];
  const onCall = (message: unknown): void => {
    const { script } = message as ScriptRegistryEvents['callStarted'];
    if (script === 'lock.release') steps.push('release sent');
  };

  const onEnd = (): void => undefined;

  beforeAll(async () => {
    apps = await ClosingApps.open();
    // Starts are published only where somebody wants the ends.
    subscribe(ScriptRegistryEvents.callEnded, onEnd);
    subscribe(ScriptRegistryEvents.callStarted, onCall);
  });
  beforeEach(async () => {
    prefix = uniquePrefix();
    gate = new Gate();
    other = await openBench(quiet(new Redis(apps.server.port)), {}, { prefix });
    steps.length = 0;
  });
  afterEach(() => {
    gate.open();
    other.close();
    expect(apps.unhandled).toEqual([]);
  });
  afterAll(async () => {
    unsubscribe(ScriptRegistryEvents.callStarted, onCall);
    unsubscribe(ScriptRegistryEvents.callEnded, onEnd);
    await apps.close();
  });

  const start = (options: LockModuleOptions): Promise<TestingModule> =>
    apps.start(prefix, { imports: [LockModule.forRoot({ leaseMs: LONG_MS, ...options })] });

  /** Work in the background that passes the gate; `ended` is its value or the code of its error. */
  function work(app: TestingModule, heeds: boolean): { lock?: Lock; aborted: boolean; ended: Promise<unknown> } {
    const seen: ReturnType<typeof work> = { aborted: false, ended: Promise.resolve() };
    const run = async (lock: Lock): Promise<string> => {
      seen.lock = lock;
      lock.signal.addEventListener('abort', () => {
        seen.aborted = true;
        steps.push('signal');
        if (heeds) gate.open();
      });
      await gate.pass();
      return 'worked';
    };
    seen.ended = app
      .get(LockService)
      .withLock('shut', {}, run)
      .catch((error: { code?: string }) => error.code)
      .then((end) => {
        steps.push(`ended: ${String(end)}`);
        return end;
      });
    return seen;
  }

  it('waits for work that ends in time: it keeps its lock, and returns its value', async () => {
    const app = await start({ drainMs: LONG_MS });
    const seen = work(app, false);
    await eventually(() => expect(gate.entered).toBe(1));
    const closing = app.close();
    // Work that is ending may need more locks.
    expect(await (await app.get(LockService).acquire('new')).release()).toBe('released');
    for (let i = 0; i < 3; i++) expect(await other.locks.tryAcquire('shut')).toBeUndefined();
    gate.open();
    await closing;
    await expect(app.get(LockService).acquire('new')).rejects.toMatchObject({ code: 'CLOSED' });
    expect([await seen.ended, seen.aborted]).toEqual(['worked', false]);
    expect((await other.locks.status('shut')).held).toBe(false);
  });

  it('aborts work that does not, and keeps the lock until the work has ended', async () => {
    const app = await start({ drainMs: 20, abortGraceMs: LONG_MS });
    const seen = work(app, true);
    await eventually(() => expect(gate.entered).toBe(1));
    await app.close();
    expect(await seen.ended).toBe('LOST');
    expect(steps).toEqual(['signal', 'release sent', 'ended: LOST']);
    expect((await other.locks.status('shut')).held).toBe(false);
  });

  it('ends withLock with LOST before it releases the lock of work that ignores the signal', async () => {
    const app = await start({ drainMs: 20, abortGraceMs: 20, leaseMs: LONG_MS });
    const seen = work(app, false);
    await eventually(() => expect(gate.entered).toBe(1));
    await app.close();
    expect(await seen.ended).toBe('LOST');
    expect(() => seen.lock?.assertHeld()).toThrow(/shutting down/);
    expect(steps).toEqual(['signal', 'ended: LOST', 'release sent']);
    expect(await other.locks.tryAcquire('shut')).toBeDefined();
  });

  it('renews a short lease until the lock is released', async () => {
    const app = await start({ drainMs: 20, abortGraceMs: LONG_MS, leaseMs: 6_000 });
    work(app, false);
    await eventually(() => expect(gate.entered).toBe(1));
    const closing = app.close();
    await eventually(() => expect(steps).toContain('signal'));
    const first = await other.locks.status('shut');
    await eventually(async () => {
      const now = await other.locks.status('shut');
      expect(now.held && first.held && now.leaseEndsAtMs > first.leaseEndsAtMs).toBe(true);
    });
    gate.open();
    await closing;
    expect((await other.locks.status('shut')).held).toBe(false);
  });

  it('waits for work whose lock was lost before', async () => {
    const app = await start({ drainMs: 20, abortGraceMs: 20 });
    const seen = work(app, false);
    await eventually(() => expect(gate.entered).toBe(1));
    await app.get(LockService).forceUnlock('shut');
    const taken = await other.locks.tryAcquire('shut');
    await app.close();
    expect(await seen.ended).toBe('LOST');
    expect(await taken?.release()).toBe('released');
  });

  it('also waits for a lock of acquire(), and releases it after drainMs and abortGraceMs', async () => {
    const patient = await start({ drainMs: LONG_MS });
    const kept = await patient.get(LockService).acquire('kept');
    const closing = patient.close();
    expect(await other.locks.tryAcquire('kept')).toBeUndefined();
    expect([kept.held, await kept.release()]).toEqual([true, 'released']);
    await closing;

    const hasty = await start({ drainMs: 20, abortGraceMs: 0 });
    const [one, two] = [await hasty.get(LockService).acquire('kept'), await hasty.get(LockService).acquire(['a', 'b'])];
    const { signal } = two;
    await hasty.close();
    expect([signal.aborted, one.held, two.held]).toEqual([true, false, false]);
    expect([await one.release(), await two.release()]).toEqual(['lost', 'lost']);
    expect(await other.locks.tryAcquire(['a', 'b', 'kept'])).toBeDefined();
  });

  it('ends waits when nothing is held any more, and leaves no ticket and no lock', async () => {
    const app = await start({ drainMs: LONG_MS, waitMs: LONG_MS });
    const held = await other.locks.acquire('wanted');
    const waiting = ['wanted', 'wanted', 'free'].map((name) =>
      app
        .get(LockService)
        .acquire(name === 'free' ? ['free', 'wanted'] : name)
        .catch((error: { code?: string }) => error.code),
    );
    await eventually(async () => expect((await other.raw.get(other.keyOf('wanted')))?.[13]).toBe('1'));
    await app.close();
    expect(await Promise.all(waiting)).toEqual(['CLOSED', 'CLOSED', 'CLOSED']);
    expect((await other.locks.status('free')).held).toBe(false);
    await eventually(async () => expect((await other.raw.get(other.keyOf('wanted')))?.[13]).toBe('0'));
    await held.release();
  });
});
