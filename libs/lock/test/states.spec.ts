import type { Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { openRegistry } from '../../script-registry/test/support';
import { ManualClock } from '../../testing/src/redis/clock';
import { MemoryRedis } from '../../testing/src/redis/memory-redis';
import {
  acquireLock,
  forceUnlock,
  leaveQueue,
  lockScripts,
  readStatus,
  releaseLock,
  renewLock,
  waitForLock,
} from '../src/lock.scripts';

/** Time of Redis, ms. It stands still, so each script is called in exactly the state that the test made. */
const NOW = 1_800_000_000_000;
const NOW_US = NOW * 1_000;
const LEASE_MS = 60_000;
const TTL_MS = 90_000;

describe('each script of a lock, in a state and at a time of which all is known,', () => {
  const clock = new ManualClock(NOW);
  const memory = new MemoryRedis({ clock });
  let client: Redis;
  let listener: Redis;
  let registry: ScriptRegistry;
  let lock: string;
  let queue: string;
  const messages: unknown[] = [];

  beforeEach(async () => {
    clock.set(NOW);
    memory.run('FLUSHALL');
    client = memory.client();
    listener = memory.client();
    registry = await openRegistry(client, { prefix: 'states', preload: 'required' }, lockScripts);
    [lock, queue] = [registry.keySpace('lock').tag('a').key('lock'), registry.keySpace('lock').tag('a').key('queue')];
    messages.length = 0;
    listener.on('smessage', (_, text) => messages.push(text));
    await listener.ssubscribe(lock);
  });
  afterEach(() => {
    registry.close();
    client.disconnect();
    listener.disconnect();
  });

  const valueOf = (tillMs: number, waits: 0 | 1, fence: number, owner: string): string =>
    `${String(tillMs).padStart(13, '0')}${waits}${String(fence).padStart(16, '0')}${owner}`;
  const ticketOf = (sinceUs: number, tillMs: number): string =>
    String(sinceUs).padStart(16, '0') + String(tillMs).padStart(13, '0');
  const put = (...value: Parameters<typeof valueOf>) => client.set(lock, valueOf(...value), 'PX', 1_000_000);
  const read = async () => [await client.get(lock), await client.pttl(lock)];
  const args = { owner: 'me#1', leaseMs: LEASE_MS, ttlMs: TTL_MS };
  const acquire = () => registry.run(acquireLock, { keys: { lock }, args });
  const renew = () => registry.run(renewLock, { keys: { lock }, args });
  const release = (owner = 'me#1') => registry.run(releaseLock, { keys: { lock }, args: { owner } });
  const force = () => registry.run(forceUnlock, { keys: { lock }, args: { retentionMs: TTL_MS } });
  const status = () => registry.run(readStatus, { keys: { lock }, args: {} });
  const leave = (ticket: string) => registry.run(leaveQueue, { keys: { lock, queue }, args: { ticket } });
  const wait = (ticket = 'mine', countsMs = 5_000) =>
    registry.run(waitForLock, { keys: { lock, queue }, args: { ...args, ticket, countsMs, turnMs: 250 } });

  it('acquire: takes a lock whose lease ends now, and raises its fence', async () => {
    await put(NOW, 0, NOW_US, 'other#1');
    expect(await acquire()).toEqual({ fence: NOW_US + 1, leftMs: 0 });
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US + 1, 'me#1'), TTL_MS]);
  });

  it('acquire: takes a lock that ended before, with the time as its fence', async () => {
    await put(0, 0, NOW_US - 1, 'other#1');
    expect(await acquire()).toEqual({ fence: NOW_US, leftMs: 0 });
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US, 'me#1'), TTL_MS]);
  });

  it('acquire: reads a time with few microseconds', async () => {
    clock.set(NOW + 0.05);
    expect(await acquire()).toEqual({ fence: NOW_US + 50, leftMs: 0 });
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US + 50, 'me#1'), TTL_MS]);
  });

  it('acquire: leaves a lock to its holder, and a free one to those that wait', async () => {
    await put(NOW + 1, 1, 7, 'other#1');
    expect(await acquire()).toEqual({ fence: 7, leftMs: 1 });
    await put(NOW, 1, 7, 'other#1');
    expect(await acquire()).toEqual({ fence: 7, leftMs: -1 });
    expect((await read())[0]).toBe(valueOf(NOW, 1, 7, 'other#1'));
  });

  it.each([
    ['too short', `${NOW + 1}0123`],
    ['without a fence', `${NOW + 1}0${'x'.repeat(16)}me#1`],
    ['without an end', `${'x'.repeat(13)}0${'1'.repeat(16)}me#1`],
  ])('all: refuse a value that is %s, and change nothing', async (_, value) => {
    await client.hset(queue, 'mine', ticketOf(1, NOW + 9));
    for (const run of [acquire, renew, force, status, () => leave('mine'), wait]) {
      await client.set(lock, value);
      await expect(run()).rejects.toMatchObject({ redisCode: 'BADLOCK' });
      expect(await read()).toEqual([value, -1]);
      expect(await client.hlen(queue)).toBe(1);
    }
  });

  it('renew: restarts a lease that has not ended, of the same owner only', async () => {
    expect(await renew()).toBe(false);
    for (const [till, owner] of [
      [NOW, 'me#1'],
      [NOW + 1, 'other#1'],
      [NOW, 'other#1'],
    ] as const) {
      await put(till, 1, 7, owner);
      expect(await renew()).toBe(false);
      expect((await read())[0]).toBe(valueOf(till, 1, 7, owner));
    }
    await put(NOW + 1, 1, 7, 'me#1');
    expect(await renew()).toBe(true);
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 1, 7, 'me#1'), TTL_MS]);
  });

  it('release: ends the lease of its owner, and wakes those that wait', async () => {
    expect(await release()).toBe(false);
    await put(NOW + 1, 0, 7, 'me#1');
    expect(await release()).toBe(true);
    expect((await read())[0]).toBe(valueOf(0, 0, 7, 'me#1'));
    expect(messages).toEqual([]);
    await put(NOW + 1, 1, 7, 'me#1');
    expect(await release()).toBe(true);
    expect(messages).toEqual(['released']);
  });

  it('release: in one group, ends the lease of its owner only', async () => {
    await put(NOW + 1, 0, 7, 'me#1');
    const runs = [release('other#1'), release('other#2'), release(), release('other#1')];
    expect(await Promise.all(runs)).toEqual([false, false, true, false]);
    expect((await read())[0]).toBe(valueOf(0, 0, 7, 'me#1'));
  });

  it('force-unlock: raises the fence, and reports whether somebody held the lock', async () => {
    expect(await force()).toEqual({ forced: false, fence: NOW_US });
    expect(await read()).toEqual([valueOf(0, 0, NOW_US, ''), TTL_MS]);
    await put(NOW, 1, NOW_US, 'other#1');
    expect(await force()).toEqual({ forced: false, fence: NOW_US + 1 });
    expect(await read()).toEqual([valueOf(0, 1, NOW_US + 1, ''), TTL_MS]);
    await put(NOW + 1, 0, 7, 'other#1');
    expect(await force()).toEqual({ forced: true, fence: NOW_US });
    await client.ping();
    expect(messages).toEqual(['forced', 'forced', 'forced']);
  });

  it('status: reports the end of a lease that has not ended', async () => {
    expect(await status()).toEqual({ held: false, fence: 0, leaseEndsAtMs: 0, owner: '' });
    await put(NOW, 0, 7, 'other#1');
    expect(await status()).toEqual({ held: false, fence: 7, leaseEndsAtMs: 0, owner: '' });
    await put(NOW + 1, 0, 7, 'other#1');
    expect(await status()).toEqual({ held: true, fence: 7, leaseEndsAtMs: NOW + 1, owner: 'other#1' });
  });

  it('leave: removes a ticket, wakes the others, and removes the mark with the last one', async () => {
    await put(NOW + 1, 1, 7, 'other#1');
    await client.hset(queue, { mine: ticketOf(1, NOW + 9), second: ticketOf(2, NOW + 9) });
    expect(await leave('none')).toBe(false);
    expect(await leave('mine')).toBe(true);
    expect(messages).toEqual(['left']);
    expect((await read())[0]).toBe(valueOf(NOW + 1, 1, 7, 'other#1'));
    expect(await leave('second')).toBe(true);
    expect(messages).toEqual(['left']);
    expect((await read())[0]).toBe(valueOf(NOW + 1, 0, 7, 'other#1'));
    await client.del(lock);
    await client.hset(queue, 'mine', ticketOf(1, NOW + 9));
    expect(await leave('mine')).toBe(true);
    expect(await client.exists(lock, queue)).toBe(0);
  });

  it('wait: takes a free lock if nobody waits', async () => {
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US, 'me#1'), TTL_MS]);
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(await client.exists(queue)).toBe(0);
  });

  it('wait: takes the lock in its turn, forgets ended tickets, and wakes those that counted them', async () => {
    await put(NOW, 1, NOW_US, 'other#1');
    await client.hset(queue, {
      gone: ticketOf(1, NOW),
      mine: ticketOf(2, NOW + 1),
      later: ticketOf(3, NOW + 1),
    });
    expect(await wait()).toEqual({ fence: NOW_US + 1, leftMs: 0, ahead: 0 });
    expect(await read()).toEqual([valueOf(NOW + LEASE_MS, 1, NOW_US + 1, 'me#1'), TTL_MS]);
    expect(await client.hgetall(queue)).toEqual({ later: ticketOf(3, NOW + 1) });
    expect(messages).toEqual(['ended']);
  });

  it('wait: makes a ticket behind the others, and keeps it', async () => {
    await put(NOW + 1_000, 0, 7, 'other#1');
    await client.hset(queue, 'first', ticketOf(NOW_US + 5, NOW + 20_000));
    expect(await wait()).toEqual({ fence: 7, leftMs: 1_000, ahead: 1 });
    expect(await client.hget(queue, 'mine')).toBe(ticketOf(NOW_US + 6, NOW + 5_000));
    expect(await client.pttl(queue)).toBe(20_000);
    expect(await read()).toEqual([valueOf(NOW + 1_000, 1, 7, 'other#1'), 1_000_000]);
    clock.set(NOW + 100);
    expect(await wait('mine', 30_000)).toEqual({ fence: 7, leftMs: 900, ahead: 1 });
    expect(await client.hget(queue, 'mine')).toBe(ticketOf(NOW_US + 6, NOW + 30_100));
    expect(await client.pttl(queue)).toBe(30_000);
    expect(await wait('none', 0)).toEqual({ fence: 7, leftMs: 900, ahead: 2 });
    expect(await client.hlen(queue)).toBe(2);
  });

  it('wait: gives the first of the queue a turn, once the lock is free', async () => {
    await put(NOW, 1, 7, 'other#1');
    await client.hset(queue, { second: ticketOf(2, NOW + 50_000), first: ticketOf(1, NOW + 40_000) });
    expect(await wait()).toEqual({ fence: 7, leftMs: 250, ahead: 2 });
    expect(await client.hget(queue, 'first')).toBe(ticketOf(1, NOW + 250));
    expect(await client.hget(queue, 'second')).toBe(ticketOf(2, NOW + 50_000));
    clock.set(NOW + 100);
    expect(await wait()).toEqual({ fence: 7, leftMs: 150, ahead: 2 });
    expect(messages).toEqual([]);
  });

  it('wait: takes a lock of its own whose lease ends now, and wakes nobody without need', async () => {
    await put(NOW, 1, 7, 'me#1');
    await client.hset(queue, { mine: ticketOf(2, NOW + 1), later: ticketOf(2, NOW + 1) });
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    await client.del(queue);
    await put(NOW, 1, 7, 'other#1');
    await client.hset(queue, { gone: ticketOf(1, NOW), odd: 'x'.repeat(16) + String(NOW + 9) });
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(await client.exists(queue)).toBe(0);
    expect(messages).toEqual([]);
  });

  it('wait: gives no turn before the lease has ended, and makes no lock', async () => {
    const first = ticketOf(1, NOW + 40_000);
    await client.hset(queue, { first });
    await put(NOW + 1, 1, 7, 'other#1');
    expect(await wait('mine', 1)).toEqual({ fence: 7, leftMs: 1, ahead: 1 });
    expect(await client.hgetall(queue)).toEqual({ first, mine: ticketOf(NOW_US, NOW + 1) });
    await client.del(lock);
    expect(await wait('mine', 9)).toEqual({ fence: 0, leftMs: 250, ahead: 1 });
    expect(await client.exists(lock)).toBe(0);
  });
});
