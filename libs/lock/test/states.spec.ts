import { NOW, NOW_US, ScriptStates } from '../../../test/support/script-states';
import {
  acquireLock,
  forceUnlock,
  lookAtLock,
  leaveQueue,
  lockScripts,
  readStatus,
  releaseLock,
  renewLock,
  waitForLock,
} from '../src/lock.scripts';

const LEASE_MS = 60_000;
const TTL_MS = 90_000;

describe('each script of a lock, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(lockScripts, ['lock']);
  const { clock } = states;

  const valueOf = (tillMs: number, waits: 0 | 1, fence: number, owner: string): string =>
    `${String(tillMs).padStart(13, '0')}${waits}${String(fence).padStart(16, '0')}${owner}`;
  const ticketOf = (sinceUs: number, tillMs: number): string =>
    String(sinceUs).padStart(16, '0') + String(tillMs).padStart(13, '0');
  const put = (...value: Parameters<typeof valueOf>) => states.put('SET', 'lock', valueOf(...value), 'PX', 1_000_000);
  const read = () => [states.put('GET', 'lock'), states.put('PTTL', 'lock')];
  const putTickets = (tickets: Readonly<Record<string, string>>) =>
    states.put('HSET', 'queue', ...Object.entries(tickets).flat());
  const tickets = () => {
    const flat = states.put('HGETALL', 'queue') as string[];
    return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : [])));
  };
  const ticket = (name: string) => states.put('HGET', 'queue', name);
  const args = { owner: 'me#1', leaseMs: LEASE_MS, ttlMs: TTL_MS };
  const acquire = () => states.call(acquireLock, args);
  const renew = () => states.call(renewLock, args);
  const release = (owner = 'me#1') => states.call(releaseLock, { owner });
  const force = (expected = 0) => states.call(forceUnlock, { retentionMs: TTL_MS, expected });
  const look = () => states.call(lookAtLock, {});
  const status = () => states.call(readStatus, {});
  const leave = (ticket: string) => states.call(leaveQueue, { ticket });
  const wait = (ticket = 'mine', countsMs = 5_000) =>
    states.call(waitForLock, { ...args, ticket, countsMs, turnMs: 250 });

  it('acquire: takes a lock whose lease ends now, and raises its fence', async () => {
    put(NOW, 0, NOW_US, 'other#1');
    expect(await acquire()).toEqual({ fence: NOW_US + 1, leftMs: 0 });
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US + 1, 'me#1'), TTL_MS]);
  });

  it('acquire: takes a lock that ended before, with the time as its fence', async () => {
    put(0, 0, NOW_US - 1, 'other#1');
    expect(await acquire()).toEqual({ fence: NOW_US, leftMs: 0 });
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US, 'me#1'), TTL_MS]);
  });

  it('acquire: reads a time with few microseconds', async () => {
    clock.set(NOW + 0.05);
    expect(await acquire()).toEqual({ fence: NOW_US + 50, leftMs: 0 });
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US + 50, 'me#1'), TTL_MS]);
  });

  it('acquire: leaves a lock to its holder, and a free one to those that wait', async () => {
    put(NOW + 1, 1, 7, 'other#1');
    expect(await acquire()).toEqual({ fence: 7, leftMs: 1 });
    put(NOW, 1, 7, 'other#1');
    expect(await acquire()).toEqual({ fence: 7, leftMs: -1 });
    expect(read()[0]).toBe(valueOf(NOW, 1, 7, 'other#1'));
  });

  it('acquire: returns a replay its fence, and takes a lock that has no owner', async () => {
    put(NOW + 1, 1, 7, 'me#1');
    expect(await acquire()).toEqual({ fence: 7, leftMs: 0 });
    expect(read()).toEqual([valueOf(NOW + 1, 1, 7, 'me#1'), 1_000_000]);
    put(NOW + 1, 0, 7, '');
    expect(await acquire()).toEqual({ fence: 7, leftMs: 1 });
    put(0, 0, 7, '');
    expect(await acquire()).toEqual({ fence: NOW_US, leftMs: 0 });
  });

  it('acquire: in one group, writes the owner of each call', async () => {
    const calls = ['a#1', 'b#1', 'b#1'].map((owner, at) =>
      states.call(acquireLock, { ...args, owner, leaseMs: LEASE_MS + Math.max(0, at - 1) }, { lock: `lock${at}` }),
    );
    await Promise.all(calls);
    expect(states.keys()).toEqual({
      lock0: `${valueOf(NOW + LEASE_MS, 0, NOW_US, 'a#1')} | ${TTL_MS}`,
      lock1: `${valueOf(NOW + LEASE_MS, 0, NOW_US, 'b#1')} | ${TTL_MS}`,
      lock2: `${valueOf(NOW + LEASE_MS + 1, 0, NOW_US, 'b#1')} | ${TTL_MS}`,
    });
  });

  it.each([
    ['too short', `${NOW + 1}0123`],
    ['without a fence', `${NOW + 1}0${'x'.repeat(16)}me#1`],
    ['without an end', `${'x'.repeat(13)}0${'1'.repeat(16)}me#1`],
  ])('all: refuse a value that is %s, and change nothing', async (_, value) => {
    putTickets({ mine: ticketOf(1, NOW + 9) });
    for (const run of [acquire, renew, force, status, () => leave('mine'), wait]) {
      states.put('SET', 'lock', value);
      await expect(run()).rejects.toMatchObject({ redisCode: 'BADLOCK' });
      expect(read()).toEqual([value, -1]);
      expect(states.put('HLEN', 'queue')).toBe(1);
    }
  });

  it('renew: restarts a lease that has not ended, of the same owner only', async () => {
    expect(await renew()).toBe(false);
    for (const [till, owner] of [
      [NOW, 'me#1'],
      [NOW + 1, 'other#1'],
      [NOW, 'other#1'],
    ] as const) {
      put(till, 1, 7, owner);
      expect(await renew()).toBe(false);
      expect(read()[0]).toBe(valueOf(till, 1, 7, owner));
    }
    put(NOW + 1, 1, 7, 'me#1');
    expect(await renew()).toBe(true);
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 1, 7, 'me#1'), TTL_MS]);
  });

  it('release: ends the lease of its owner, and wakes those that wait', async () => {
    expect(await release()).toBe('lost');
    put(NOW + 1, 0, 7, 'me#1');
    expect(await release()).toBe('released');
    expect(read()[0]).toBe(valueOf(0, 0, 7, 'me#1'));
    expect(await states.published()).toEqual([]);
    put(NOW + 1, 1, 7, 'me#1');
    expect(await release()).toBe('released');
    expect(await states.published()).toEqual(['released']);
  });

  it('release: in one group, ends the lease of its owner only', async () => {
    put(NOW + 1, 0, 7, 'me#1');
    const runs = [release('other#1'), release('other#2'), release(), release('other#1')];
    expect(await Promise.all(runs)).toEqual(['lost', 'lost', 'released', 'lost']);
    expect(read()[0]).toBe(valueOf(0, 0, 7, 'me#1'));
  });

  it('force-unlock: raises the fence, and reports whether somebody held the lock', async () => {
    expect(await force()).toMatchObject({ forced: false, fence: NOW_US });
    expect(read()).toEqual([valueOf(0, 0, NOW_US, ''), TTL_MS]);
    put(NOW, 1, NOW_US, 'other#1');
    expect(await force()).toMatchObject({ forced: false, fence: NOW_US + 1 });
    expect(read()).toEqual([valueOf(0, 1, NOW_US + 1, ''), TTL_MS]);
    put(NOW + 1, 0, 7, 'other#1');
    expect(await force()).toMatchObject({ forced: true, fence: NOW_US });
    expect(await states.published()).toEqual(['forced', 'forced', 'forced']);
  });

  it('force-unlock: with an expected fence, changes nothing of a free lock, or of a lock with another fence', async () => {
    expect(await force(7)).toMatchObject({ forced: false, fence: 0 });
    expect(read()).toEqual([null, -2]);
    put(NOW, 0, 7, 'other#1');
    expect(await force(7)).toMatchObject({ forced: false, fence: 7 });
    put(NOW + 1, 1, 8, 'other#1');
    expect(await force(7)).toMatchObject({ forced: false, fence: 8 });
    expect(read()[0]).toBe(valueOf(NOW + 1, 1, 8, 'other#1'));
    expect(await states.published()).toEqual([]);
    expect(await force(8)).toMatchObject({ forced: true, fence: NOW_US });
    expect(await force(8)).toMatchObject({ forced: false, fence: NOW_US });
    expect(await states.published()).toEqual(['forced']);
  });

  it('look: reads the tickets that are valid, of a lock that others wait for', async () => {
    const free = { held: false, fence: 0, leaseEndsAtMs: 0, owner: '', waiters: 0, waitingSinceMs: 0 };
    expect(await look()).toEqual(free);
    putTickets({ ended: ticketOf(1_000, NOW), first: ticketOf(2_000, NOW + 9), second: ticketOf(3_000, NOW + 9) });
    expect(await look()).toEqual({ ...free, waiters: 2, waitingSinceMs: 2 });
    put(NOW + 1, 1, 7, 'other#1');
    const held = { held: true, fence: 7, leaseEndsAtMs: NOW + 1, owner: 'other#1', waiters: 2, waitingSinceMs: 2 };
    expect(await look()).toEqual(held);
    // Nobody waits by the mark of the lock, so the queue is not read.
    put(NOW, 0, 7, 'other#1');
    expect(await look()).toEqual({ ...free, fence: 7 });
    expect(Object.keys(tickets())).toHaveLength(3);
  });

  it('status: reports the end of a lease that has not ended', async () => {
    expect(await status()).toEqual({ held: false, fence: 0, leaseEndsAtMs: 0, owner: '' });
    put(NOW, 0, 7, 'other#1');
    expect(await status()).toEqual({ held: false, fence: 7, leaseEndsAtMs: 0, owner: '' });
    put(NOW + 1, 0, 7, 'other#1');
    expect(await status()).toEqual({ held: true, fence: 7, leaseEndsAtMs: NOW + 1, owner: 'other#1' });
  });

  it('leave: removes a ticket, wakes the others, and removes the mark with the last one', async () => {
    put(NOW + 1, 1, 7, 'other#1');
    putTickets({ mine: ticketOf(1, NOW + 9), second: ticketOf(2, NOW + 9) });
    expect(await leave('none')).toBe(false);
    expect(await leave('mine')).toBe(true);
    expect(await states.published()).toEqual(['left']);
    expect(read()[0]).toBe(valueOf(NOW + 1, 1, 7, 'other#1'));
    expect(await leave('second')).toBe(true);
    expect(await states.published()).toEqual([]);
    expect(read()[0]).toBe(valueOf(NOW + 1, 0, 7, 'other#1'));
    states.put('DEL', 'lock');
    putTickets({ mine: ticketOf(1, NOW + 9) });
    expect(await leave('mine')).toBe(true);
    expect(states.keys()).toEqual({});
  });

  it('wait: takes a free lock if nobody waits', async () => {
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 0, NOW_US, 'me#1'), TTL_MS]);
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(states.put('EXISTS', 'queue')).toBe(0);
  });

  it('wait: takes the lock in its turn, forgets ended tickets, and wakes those that counted them', async () => {
    put(NOW, 1, NOW_US, 'other#1');
    putTickets({
      gone: ticketOf(1, NOW),
      mine: ticketOf(2, NOW + 1),
      later: ticketOf(3, NOW + 1),
    });
    expect(await wait()).toEqual({ fence: NOW_US + 1, leftMs: 0, ahead: 0 });
    expect(read()).toEqual([valueOf(NOW + LEASE_MS, 1, NOW_US + 1, 'me#1'), TTL_MS]);
    expect(tickets()).toEqual({ later: ticketOf(3, NOW + 1) });
    expect(await states.published()).toEqual(['ended']);
  });

  it('wait: makes a ticket behind the others, and keeps it', async () => {
    put(NOW + 1_000, 0, 7, 'other#1');
    putTickets({ first: ticketOf(NOW_US + 5, NOW + 20_000) });
    expect(await wait()).toEqual({ fence: 7, leftMs: 1_000, ahead: 1 });
    expect(ticket('mine')).toBe(ticketOf(NOW_US + 6, NOW + 5_000));
    expect(states.put('PTTL', 'queue')).toBe(20_000);
    expect(read()).toEqual([valueOf(NOW + 1_000, 1, 7, 'other#1'), 1_000_000]);
    clock.set(NOW + 100);
    expect(await wait('mine', 30_000)).toEqual({ fence: 7, leftMs: 900, ahead: 1 });
    expect(ticket('mine')).toBe(ticketOf(NOW_US + 6, NOW + 30_100));
    expect(states.put('PTTL', 'queue')).toBe(30_000);
    expect(await wait('none', 0)).toEqual({ fence: 7, leftMs: 900, ahead: 2 });
    expect(states.put('HLEN', 'queue')).toBe(2);
  });

  it('wait: gives the first of the queue a turn, once the lock is free', async () => {
    put(NOW, 1, 7, 'other#1');
    putTickets({ second: ticketOf(2, NOW + 50_000), first: ticketOf(1, NOW + 40_000) });
    expect(await wait()).toEqual({ fence: 7, leftMs: 250, ahead: 1 });
    expect(ticket('first')).toBe(ticketOf(1, NOW + 250));
    expect(ticket('second')).toBe(ticketOf(2, NOW + 50_000));
    clock.set(NOW + 100);
    expect(await wait()).toEqual({ fence: 7, leftMs: 150, ahead: 1 });
    expect(await states.published()).toEqual([]);
  });

  it('wait: takes a lock of its own whose lease ends now, and wakes nobody without need', async () => {
    put(NOW, 1, 7, 'me#1');
    putTickets({ mine: ticketOf(2, NOW + 1), later: ticketOf(2, NOW + 1) });
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    states.put('DEL', 'queue');
    put(NOW, 1, 7, 'other#1');
    putTickets({ gone: ticketOf(1, NOW), norm: 'x'.repeat(16) + String(NOW + 9) });
    expect(await wait()).toEqual({ fence: NOW_US, leftMs: 0, ahead: 0 });
    expect(states.put('EXISTS', 'queue')).toBe(0);
    expect(await states.published()).toEqual([]);
  });

  it('wait: gives no turn before the lease has ended, and makes no lock', async () => {
    const first = ticketOf(1, NOW + 40_000);
    putTickets({ first });
    put(NOW + 1, 1, 7, 'other#1');
    expect(await wait('mine', 1)).toEqual({ fence: 7, leftMs: 1, ahead: 1 });
    expect(tickets()).toEqual({ first, mine: ticketOf(NOW_US, NOW + 1) });
    states.put('DEL', 'lock');
    expect(await wait('mine', 9)).toEqual({ fence: 0, leftMs: 250, ahead: 0 });
    expect(states.put('EXISTS', 'lock')).toBe(0);
  });
});
