import { LostError } from 'luanest/script-registry';
import fc from 'fast-check';
import { LockBusyError, type Lock } from 'luanest/lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { size } from '../../../test/support/size';
import { eventually, sleep } from '../../../test/support/wait';
import { luaResource } from './recipes';
import { openBench, servers, type Bench } from './support';

/** Times that each of eight callers adds to a counter. */
const EACH = size(8, 25);

describe.each(servers)('locks on a %s', (_, client) => {
  let bench: Bench;
  let other: Bench;

  beforeAll(async () => {
    const prefix = uniquePrefix();
    bench = await openBench(client(), { node: 'one' }, { prefix });
    other = await openBench(client(), { node: 'two' }, { prefix });
  });
  afterAll(() => {
    bench.close();
    other.close();
  });

  it('are held by one holder, returned by status, and released', async () => {
    const lock = await bench.locks.acquire('a');
    expect(await other.locks.tryAcquire('a')).toBeUndefined();
    expect(await other.locks.status('a')).toMatchObject({ held: true, node: 'one', fence: lock.fence });
    expect(await lock.release()).toBe('released');
    expect(await lock.release()).toBe('released');
    expect(() => lock.assertHeld()).toThrow(LostError);
    expect(await bench.locks.status('a')).toEqual({ held: false, fence: lock.fence });
  });

  it('wake a waiting caller at the release, long before it would poll', async () => {
    const lock = await bench.locks.acquire('wake', { leaseMs: 120_000 });
    const slow = await openBench(client(), { pollMs: 60_000 }, { prefix: prefixOf(bench) });
    const waiting = slow.locks.acquire('wake', { waitMs: 60_000 });
    await eventually(async () => expect((await bench.raw.get(bench.keyOf('wake')))?.[13]).toBe('1'));
    await sleep(300);
    const started = performance.now();
    await lock.release();
    const mine = await waiting;
    // Its next look would be 30 s after its last one, or later.
    expect(performance.now() - started).toBeLessThan(25_000);
    await mine.release();
    slow.close();
  });

  it('throw LockBusyError after waitMs, and do not wait with skip', async () => {
    const lock = await bench.locks.acquire('busy');
    await expect(other.locks.acquire('busy', { waitMs: 60 })).rejects.toThrow(LockBusyError);
    expect(await other.locks.withLock('busy', { onBusy: 'skip' }, () => 1)).toBeUndefined();
    await lock.release();
  });

  it('refuse the same name inside withLock, and allow it after the work', async () => {
    await expect(
      bench.locks.withLock('deep', {}, () => bench.locks.withLock(['x', 'deep'], {}, () => 1)),
    ).rejects.toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }) as Error);
    expect(await bench.locks.withLock('deep', {}, () => 2)).toBe(2);
  });

  it('acquire all of several names or none', async () => {
    const b = await bench.locks.acquire('m-b');
    expect(await other.locks.tryAcquire(['m-c', 'm-b', 'm-a'])).toBeUndefined();
    expect((await bench.locks.status('m-a')).held).toBe(false);
    await b.release();
    const all = (await other.locks.tryAcquire(['m-c', 'm-b', 'm-a'])) as Lock;
    expect(all.names).toEqual(['m-a', 'm-b', 'm-c']);
    expect(all.fenceOf('m-b')).toBeGreaterThan(b.fence);
    expect(await all.release()).toBe('released');
  });

  it('are renewed while held, and end at the deadline without renewal', async () => {
    const renewed = await bench.locks.acquire('renewed', { leaseMs: 2_000 });
    const fixed = await bench.locks.acquire('fixed', { leaseMs: 2_000, renew: false });
    const { signal } = fixed;
    await eventually(() => expect(signal.aborted).toBe(true));
    expect(() => fixed.assertHeld()).toThrow(LostError);
    await sleep(300);
    renewed.assertHeld();
    expect(await renewed.release()).toBe('released');
    expect(await fixed.release()).toBe('lost');
  });

  it('after forceUnlock, the signal fires at the next renewal, the fence is higher, and release returns lost', async () => {
    const lock = await bench.locks.acquire('forced', { leaseMs: 4_000 });
    const { signal } = lock;
    const { forced, fence } = await other.locks.forceUnlock('forced');
    expect([forced, fence > lock.fence]).toEqual([true, true]);
    await eventually(() => expect(signal.aborted).toBe(true));
    const next = await other.locks.acquire('forced');
    expect(next.fence).toBeGreaterThan(fence);
    expect(await lock.release()).toBe('lost');
    expect(await next.release()).toBe('released');
  });

  it('of several names have one signal, which fires when one of them is lost', async () => {
    const both = await bench.locks.acquire(['pair-a', 'pair-b'], { leaseMs: 4_000 });
    const { signal } = both;
    expect([signal.aborted, both.signal === signal]).toEqual([false, true]);
    await other.locks.forceUnlock('pair-b');
    await eventually(() => expect(signal.aborted).toBe(true));
    expect(() => both.assertHeld()).toThrow(LostError);
    expect(await both.release()).toBe('lost');
  });

  it('have a higher fence after the key was deleted, and a TTL on every key', async () => {
    const fences: number[] = [];
    for (let i = 0; i < 5; i++) {
      const lock = await bench.locks.acquire('fenced');
      fences.push(lock.fence);
      expect(await bench.raw.pttl(bench.keyOf('fenced'))).toBeGreaterThan(0);
      await lock.release();
      expect(await bench.raw.pttl(bench.keyOf('fenced'))).toBeGreaterThan(0);
      if (i % 2) await bench.raw.del(bench.keyOf('fenced'));
    }
    expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
  });

  it('have a fence from the clock of Redis after the key was deleted', async () => {
    const last = 9_000_000_000_000_000;
    await bench.raw.set(bench.keyOf('forgotten'), `00000000000000${last}one#gone`, 'PX', 60_000);
    // As a replica that never had the key and is promoted: whether the next fence is higher depends on its clock.
    await bench.raw.del(bench.keyOf('forgotten'));
    const lock = await bench.locks.acquire('forgotten');
    const [seconds = 0] = ((await bench.raw.time()) as (number | string)[]).map(Number);
    expect(Math.abs(lock.fence / 1_000_000 - seconds)).toBeLessThan(60);
    await lock.release();
  });

  it('have a higher fence after the clock of Redis went back', async () => {
    const last = 9_000_000_000_000_000;
    await bench.raw.set(bench.keyOf('ahead'), `00000000000000${last}one#gone`, 'PX', 60_000);
    const lock = await bench.locks.acquire('ahead');
    expect(lock.fence).toBe(last + 1);
    expect((await other.locks.forceUnlock('ahead')).fence).toBe(last + 2);
    expect(await lock.release()).toBe('lost');
  });

  it('of many names can be acquired at the same time, and each release ends only its own lock', async () => {
    const names = Array.from({ length: 500 }, (_unused, i) => `many-${i}`);
    const all = await Promise.all(names.map((name) => bench.locks.acquire(name, { waitMs: 0 })));
    const again = await Promise.all(names.map((name) => bench.locks.tryAcquire(name)));
    expect(again.filter((lock) => lock !== undefined)).toEqual([]);
    const half = all.filter((_lock, i) => i % 2 === 0);
    expect(new Set(await Promise.all(half.map((lock) => lock.release())))).toEqual(new Set(['released']));
    const held = await Promise.all(names.map(async (name) => (await other.locks.status(name)).held));
    expect(held).toEqual(names.map((_name, i) => i % 2 === 1));
    await Promise.all(all.map((lock) => lock.release()));
  });

  it('protect a counter that nothing else protects', async () => {
    let counter = 0;
    const bump = async ({ locks }: Bench): Promise<void> => {
      await locks.withLock('counter', { waitMs: 30_000 }, async () => {
        const seen = counter;
        await new Promise((resolve) => setImmediate(resolve));
        counter = seen + 1;
      });
    };
    const worker = async (who: Bench): Promise<void> => {
      for (let i = 0; i < EACH; i++) await bump(who);
    };
    await Promise.all(Array.from({ length: 8 }, (_unused, i) => worker(i % 2 ? bench : other)));
    expect(counter).toBe(8 * EACH);
  });

  it('behave like a model with one holder, in any order of calls', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('take', 'release', 'force', 'flush'), fc.integer({ min: 0, max: 2 })), {
          maxLength: 25,
        }),
        async (steps) => {
          const name = `model-${run++}`;
          const mine: (Lock | undefined)[] = [];
          let holder: number | undefined;
          let last = 0;
          for (const [step, who] of steps) {
            if (step === 'take' && mine[who] === undefined) {
              const lock = await bench.locks.tryAcquire(name);
              expect(lock === undefined).toBe(holder !== undefined);
              if (lock) {
                expect(lock.fence).toBeGreaterThan(last);
                last = lock.fence;
                holder = who;
              }
              mine[who] = lock;
            } else if (step === 'release' && mine[who]) {
              expect(await mine[who].release()).toBe(holder === who ? 'released' : 'lost');
              if (holder === who) holder = undefined;
              mine[who] = undefined;
            } else if (step === 'force') {
              last = (await other.locks.forceUnlock(name)).fence;
              holder = undefined;
            } else if (step === 'flush') {
              await bench.raw.del(bench.keyOf(name));
              holder = undefined;
            }
          }
          for (const lock of mine) await lock?.release();
        },
      ),
      { numRuns: 25 },
    );
  });

  it('report which of several names was held', async () => {
    const held = await bench.locks.acquire('of-b');
    await expect(other.locks.acquire(['of-c', 'of-b', 'of-a'], { waitMs: 1 })).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      message:
        'Lock of-b (of of-c, of-b, of-a) was not free within 1 ms (waitMs), so it was not acquired and the work did not run. Try again later, or raise waitMs. LockService.status() shows if it is held now.',
    });
    await held.release();
  });

  it('report which of several names was lost while the others were awaited', async () => {
    const held = await other.locks.acquire('lost-b');
    const waiting = bench.locks.acquire(['lost-b', 'lost-a'], { waitMs: 60_000, leaseMs: 50_000 });
    await eventually(async () => expect(await other.locks.status('lost-a')).toMatchObject({ held: true }));
    await bench.locks.forceUnlock('lost-a');
    await held.release();
    await expect(waiting).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      message:
        'Lock lost-a (of lost-b, lost-a) was acquired, but lost before all names were acquired, so the work did not run. Its lease (50000 ms) ended, forceUnlock() ended it, or Redis lost it. Try again, or raise leaseMs.',
    });
    expect(await other.locks.status('lost-b')).toMatchObject({ held: false });
  });

  it('refuse values that are not names', async () => {
    for (const names of [3, {}, null, undefined, new Set(['a'])] as never[]) {
      await expect(bench.locks.acquire(names)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(bench.locks.tryAcquire(names)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  it('refuse work that is not a function, and take no lock', async () => {
    const refused = bench.locks.withLock('workless', {}, undefined as never);
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'LockService.withLock: work is undefined. Expected a function.',
    });
    expect(await bench.locks.status('workless')).toEqual({ held: false, fence: 0 });
  });

  it('are released at the end of an await using scope, which throws if they were lost', async () => {
    const use = async (force: boolean): Promise<boolean> => {
      await using lock = await bench.locks.acquire('scoped');
      if (force) await other.locks.forceUnlock('scoped');
      return lock.held;
    };
    expect(await use(false)).toBe(true);
    expect((await other.locks.status('scoped')).held).toBe(false);
    await expect(use(true)).rejects.toThrow(LostError);
    // A lock that was not taken is undefined, which has nothing to release.
    const held = await other.locks.acquire('scoped');
    await using none = await bench.locks.tryAcquire('scoped');
    expect(none).toBeUndefined();
    expect(await held.release()).toBe('released');
  });

  it('refuse a key whose value another program wrote', async () => {
    await bench.raw.set(bench.keyOf('odd'), 'text', 'PX', 60_000);
    await expect(bench.locks.acquire('odd')).rejects.toMatchObject({ code: 'SCRIPT_FAILED', redisCode: 'BADLOCK' });
    expect(await bench.raw.get(bench.keyOf('odd'))).toBe('text');
  });
});

describe('the recipe for stale fences', () => {
  // That in SQL: see processes.long.spec.ts.
  it('is refused by a Lua script', async () => {
    const bench = await openBench((servers[0] as (typeof servers)[0])[1]());
    const write = luaResource(bench.raw, bench.keyOf('recipe'));
    const old = await bench.locks.acquire('recipe-lock', { leaseMs: 300, renew: false });
    const next = await bench.locks.acquire('recipe-lock');
    expect([await write(2, next.fence), await write(1, old.fence)]).toEqual([true, false]);
    await next.release();
    bench.close();
  });
});

function prefixOf(bench: Bench): string {
  return bench.keyOf('x').split(':')[0] as string;
}
