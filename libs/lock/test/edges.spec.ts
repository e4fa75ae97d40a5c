import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { acquireLock, releaseLock } from '../src/lock.scripts';
import { openBench, servers, type Bench } from './support';

const HOUR_MS = 3_600_000;

describe.each(servers)('the scripts of a lock on a %s', (_, client) => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await openBench(client(), {}, { prefix: uniquePrefix() });
  });
  afterAll(() => bench.close());

  const acquire = (name: string, owner: string, leaseMs = 60_000) =>
    bench.registry.run(acquireLock, {
      keys: { lock: bench.keyOf(name) },
      args: { owner, leaseMs, ttlMs: leaseMs + HOUR_MS },
    });
  const release = (name: string, owner: string) =>
    bench.registry.run(releaseLock, { keys: { lock: bench.keyOf(name) }, args: { owner } });
  const ended = (name: string) => eventually(async () => expect((await bench.locks.status(name)).held).toBe(false));

  it('return the same fence when an acquire runs twice, and change nothing', async () => {
    const first = await acquire('twice', 'a#1');
    const value = await bench.raw.get(bench.keyOf('twice'));
    expect(await acquire('twice', 'a#1')).toEqual(first);
    expect(await bench.raw.get(bench.keyOf('twice'))).toBe(value);
    expect((await acquire('twice', 'b#1')).leftMs).toBeGreaterThan(0);
  });

  it('release a lease that has ended, if nobody else acquired the lock, and again if the release runs twice', async () => {
    const { fence } = await acquire('ended', 'a#1', 1);
    await ended('ended');
    expect(await release('ended', 'a#1')).toBe('released');
    expect(await release('ended', 'a#1')).toBe('released');
    expect(await bench.locks.status('ended')).toEqual({ held: false, fence });
    expect(await bench.raw.pttl(bench.keyOf('ended'))).toBeGreaterThan(0);
  });

  it('do not release a lock that another owner acquired after the lease, held or released', async () => {
    const first = await acquire('taken', 'a#1', 1);
    await ended('taken');
    const second = await acquire('taken', 'b#1');
    expect(second).toMatchObject({ leftMs: 0 });
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(await release('taken', 'a#1')).toBe('lost');
    expect(await bench.locks.status('taken')).toMatchObject({ held: true, fence: second.fence });
    expect(await release('taken', 'b#1')).toBe('released');
    expect(await release('taken', 'a#1')).toBe('lost');
  });

  it('do not release a lock that forceUnlock took, or that Redis lost', async () => {
    await acquire('forced', 'a#1');
    await bench.locks.forceUnlock('forced');
    expect(await release('forced', 'a#1')).toBe('lost');
    await acquire('lost', 'a#1');
    await bench.raw.del(bench.keyOf('lost'));
    expect(await release('lost', 'a#1')).toBe('lost');
    expect(await bench.raw.exists(bench.keyOf('lost'))).toBe(0);
  });

  it('give a key without TTL its TTL at the next acquisition, and keep its fence', async () => {
    const { fence } = await acquire('no-ttl', 'a#1');
    await bench.raw.persist(bench.keyOf('no-ttl'));
    expect((await acquire('no-ttl', 'b#1')).leftMs).toBeGreaterThan(0);
    expect(await release('no-ttl', 'a#1')).toBe('released');
    expect((await acquire('no-ttl', 'b#1')).fence).toBeGreaterThan(fence);
    expect(await bench.raw.pttl(bench.keyOf('no-ttl'))).toBeGreaterThan(HOUR_MS);
  });

  it('take the fence from the clock, so it is higher than fences that a failover lost', async () => {
    const old = '1000000000000001';
    await bench.raw.set(bench.keyOf('replica'), `00000000000000${old}a#1`, 'PX', HOUR_MS);
    const [seconds = 0] = ((await bench.raw.time()) as (number | string)[]).map(Number);
    expect((await acquire('replica', 'b#1')).fence).toBeGreaterThanOrEqual(seconds * 1_000_000);
  });

  it('raise the last fence by one while the clock is behind it, and keep the value readable', async () => {
    const ahead = 9_000_000_000_000_000;
    await bench.raw.set(bench.keyOf('behind'), `00000000000000${ahead}a#1`, 'PX', HOUR_MS);
    expect(await acquire('behind', 'b#1')).toEqual({ fence: ahead + 1, leftMs: 0 });
    expect(await acquire('behind', 'b#1')).toEqual({ fence: ahead + 1, leftMs: 0 });
    expect(await bench.locks.status('behind')).toMatchObject({ held: true, fence: ahead + 1 });
    expect(await release('behind', 'b#1')).toBe('released');
    expect(await acquire('behind', 'c#1')).toEqual({ fence: ahead + 2, leftMs: 0 });
  });

  it('in one group judge each lock by its own value', async () => {
    await acquire('g-1', 'x#1');
    await acquire('g-2', 'x#2');
    const names = ['g-0', 'g-1', 'g-2', 'g-3'];
    const replies = await Promise.all(names.map((name) => acquire(name, 'x#1')));
    expect(replies.map(({ leftMs }) => leftMs === 0)).toEqual([true, true, false, true]);
    const released = await Promise.all([...names, 'g-none'].map((name) => release(name, 'x#1')));
    expect(released).toEqual(['released', 'released', 'lost', 'released', 'lost']);
    expect(await bench.locks.status('g-2')).toMatchObject({ held: true });
  });

  it('report a value that another program wrote, and change nothing', async () => {
    for (const value of ['text', `x${'0'.repeat(40)}`, 'a#1']) {
      await bench.raw.set(bench.keyOf('odd'), value, 'PX', HOUR_MS);
      const failed = { code: 'SCRIPT_FAILED', redisCode: 'BADLOCK' };
      await expect(acquire('odd', 'a#1')).rejects.toMatchObject(failed);
      await expect(release('odd', 'a#1')).rejects.toMatchObject(failed);
      expect(await bench.raw.get(bench.keyOf('odd'))).toBe(value);
    }
  });
});
