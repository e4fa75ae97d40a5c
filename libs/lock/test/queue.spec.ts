import { size } from '../../../test/support/size';
import { few } from '../../../test/support/few';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { leaveQueue, waitForLock } from '../src/lock.scripts';
import { openBench, servers, type Bench } from './support';

describe.each(few(servers))('callers that wait for a lock on a %s', (_, client) => {
  let prefix: string;
  const benches: Bench[] = [];

  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterEach(() => {
    for (const bench of benches.splice(0)) bench.close();
  });

  async function open(options: Parameters<typeof openBench>[1] = {}): Promise<Bench> {
    const bench = await openBench(client(), options, { prefix });
    benches.push(bench);
    return bench;
  }

  it('get the lock in turn, although each of them acquires it again at once', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => open()));
    const rounds = clients.map(() => 0);
    let left = size(24, 96);
    await Promise.all(
      clients.map(async ({ locks }, i) => {
        while (left > 0) {
          await locks.withLock('busy', { waitMs: 60_000 }, async () => {
            if (left-- > 0) rounds[i] = (rounds[i] ?? 0) + 1;
            await sleep(10);
          });
        }
      }),
    );
    // A fair share is twice as many.
    expect(Math.min(...rounds)).toBeGreaterThanOrEqual(size(1, 6));
  }, 60_000);

  it('of one process get the lock first come, first served', async () => {
    const [holder, one] = [await open(), await open()];
    const held = await holder.locks.acquire('line');
    const order: number[] = [];
    const waiting = [0, 1, 2, 3, 4].map((i) =>
      one.locks
        .withLock('line', { waitMs: i === 1 ? 1 : 60_000 }, () => void order.push(i))
        .catch(() => order.push(-i)),
    );
    await eventually(() => expect(order).toEqual([-1]));
    await eventually(async () => expect(await holder.raw.hlen(queueOf(holder, 'line'))).toBe(1));
    await held.release();
    await Promise.all(waiting);
    expect(order).toEqual([-1, 0, 2, 3, 4]);
    expect((await holder.raw.get(holder.keyOf('line')))?.[13]).toBe('0');
    expect(await holder.raw.exists(queueOf(holder, 'line'))).toBe(0);
  });

  it('are not overtaken by callers that do not wait, and a process that died delays them only for its turn', async () => {
    const bench = await open();
    const held = await bench.locks.acquire('dead');
    // As a process leaves it that died after its last look.
    await look(bench, 'dead', 'gone', { countsMs: 600_000 });
    expect(await bench.raw.pttl(queueOf(bench, 'dead'))).toBeGreaterThan(0);
    await held.release();
    expect(await bench.locks.tryAcquire('dead')).toBeUndefined();
    const lock = await bench.locks.acquire('dead', { waitMs: 60_000 });
    expect(await bench.raw.exists(queueOf(bench, 'dead'))).toBe(0);
    await lock.release();
    // A ticket that counts no longer has no turn.
    const again = await bench.locks.acquire('dead');
    await look(bench, 'dead', 'gone', { countsMs: 1 });
    await again.release();
    await eventually(async () => expect(await bench.locks.tryAcquire('dead')).toBeDefined());
  });

  it('leave the queue when their time is over, so that the lock can be taken at once', async () => {
    const [holder, one] = [await open(), await open()];
    const held = await holder.locks.acquire('left');
    const leave = async (): Promise<void> => {
      const busy = one.locks.acquire('left', { waitMs: 300 }).catch((error: { code?: string }) => error.code);
      const joined = async (): Promise<void> => expect(await holder.raw.hlen(queueOf(holder, 'left'))).toBe(1);
      const seen = await eventually(joined, { timeoutMs: 300 }).then(
        () => true,
        () => false,
      );
      expect([await busy, seen]).toEqual(['LOCK_BUSY', true]);
    };
    // On a slow machine, one may have left the queue before it is seen there.
    await eventually(leave);
    await eventually(async () => expect(await holder.raw.exists(queueOf(holder, 'left'))).toBe(0));
    await held.release();
    expect(await holder.locks.tryAcquire('left')).toBeDefined();
  });

  it('for several names at once do not block each other, in any order of names', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => open()));
    const lists = [['a', 'b'], ['b', 'a', 'c'], ['c', 'b'], 'b'];
    const held = new Set<string>();
    await Promise.all(
      clients.map(async ({ locks }, i) => {
        for (let round = 0; round < size(2, 12); round++) {
          await locks.withLock(lists[(i + round) % 4] ?? 'a', { waitMs: 60_000 }, async ({ names }) => {
            expect(names.filter((name) => held.has(name))).toEqual([]);
            for (const name of names) held.add(name);
            await sleep(1);
            for (const name of names) held.delete(name);
          });
        }
      }),
    );
  }, 60_000);

  it('are queued by scripts that change nothing when they run twice', async () => {
    const bench = await open();
    const first = await look(bench, 'twice', 'a', { owner: 'me#1' });
    expect(first).toMatchObject({ leftMs: 0, ahead: 0 });
    expect(await look(bench, 'twice', 'a', { owner: 'me#1' })).toEqual(first);
    expect(await bench.raw.exists(queueOf(bench, 'twice'))).toBe(0);
    // A clock that goes back lets nobody come before those that wait.
    await bench.raw.hset(queueOf(bench, 'twice'), 'ahead', '90000000000000009000000000000');
    for (const ticket of ['b', 'b']) expect(await look(bench, 'twice', ticket)).toMatchObject({ ahead: 1 });
    for (const ticket of ['c', 'c']) expect(await look(bench, 'twice', ticket)).toMatchObject({ ahead: 2 });
    const leaving = { keys: keysOf(bench, 'twice'), args: { ticket: 'b' } };
    expect(await bench.registry.run(leaveQueue, leaving)).toBe(true);
    expect(await bench.registry.run(leaveQueue, leaving)).toBe(false);
    expect(await look(bench, 'twice', 'c')).toMatchObject({ ahead: 1 });
    expect((await bench.raw.get(bench.keyOf('twice')))?.[13]).toBe('1');
  });

  it('do not wait for a release of the lease that ended, if the next process takes the lock', async () => {
    const bench = await open();
    const held = await bench.locks.acquire('ended');
    for (const ticket of ['a', 'b', 'c']) await look(bench, 'ended', ticket);
    expect(await look(bench, 'ended', 'c')).toMatchObject({ ahead: 2 });
    await bench.raw.del(bench.keyOf('ended'));
    // Nobody announces that `a` takes the free lock. So the next release is its own, and then it is the turn of `b`.
    expect(await look(bench, 'ended', 'b')).toMatchObject({ leftMs: 250, ahead: 0 });
    expect(await look(bench, 'ended', 'c')).toMatchObject({ ahead: 1 });
    expect(await look(bench, 'ended', 'a', { owner: 'me#1' })).toMatchObject({ leftMs: 0 });
    expect(await look(bench, 'ended', 'b')).toMatchObject({ ahead: 0 });
    expect(await look(bench, 'ended', 'c')).toMatchObject({ ahead: 1 });
    await held.release();
  });

  it('get no ticket if the queue is full, and poll', async () => {
    const bench = await open();
    const held = await bench.locks.acquire('full');
    const tickets = Object.fromEntries(
      Array.from({ length: 512 }, (_unused, i) => [`t${i}`, '00000000000000019000000000000']),
    );
    await bench.raw.hset(queueOf(bench, 'full'), tickets);
    expect(await look(bench, 'full', 'more')).toMatchObject({ ahead: 512 });
    expect(await bench.raw.hlen(queueOf(bench, 'full'))).toBe(512);
    await held.release();
  });

  it('get an error if the key of the queue has another type, and nothing is changed', async () => {
    const bench = await open();
    await bench.raw.set(queueOf(bench, 'odd'), 'text', 'PX', 60_000);
    await expect(look(bench, 'odd', 'a')).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(await bench.raw.exists(bench.keyOf('odd'))).toBe(0);
  });

  const keysOf = (bench: Bench, name: string) => ({ lock: bench.keyOf(name), queue: queueOf(bench, name) });
  const queueOf = ({ registry }: Bench, name: string): string => registry.keySpace('lock').tag(name).key('queue');

  function look(bench: Bench, name: string, ticket: string, { countsMs = 60_000, owner = 'other#1' } = {}) {
    const args = { owner, leaseMs: 60_000, ttlMs: 120_000, ticket, countsMs, turnMs: 250 };
    return bench.registry.run(waitForLock, { keys: keysOf(bench, name), args });
  }
});
