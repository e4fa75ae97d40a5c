import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { LockEvents, type Lock } from 'luanest/lock';
import { itResending } from '../../../test/support/client-kind';
import { Published } from '../../../test/support/published';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';

describe('locks when Redis fails', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let bench: Bench;
  let direct: Bench;

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
  });
  beforeEach(async () => {
    bench = await openBench(quiet(new Redis(proxy.port)), {}, { prefix: 'faults' });
    direct = await openBench(quiet(new Redis(server.port)), {}, { prefix: 'faults' });
    await direct.raw.flushall();
  });
  afterEach(() => {
    proxy.pass();
    bench.close();
    direct.close();
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  const published = new Published(LockEvents);
  const evalsha = (request: string): boolean => request.includes('EVALSHA');

  itResending('an acquire whose reply was lost is the same lock', async () => {
    const cut = proxy.dropReply({ when: evalsha });
    const lock = await bench.locks.acquire('lost-reply', { leaseMs: 60_000, waitMs: 0 });
    await cut;
    expect(await direct.locks.status('lost-reply')).toMatchObject({ held: true, fence: lock.fence });
    expect(await lock.release()).toBe('released');
    expect((await direct.locks.status('lost-reply')).held).toBe(false);
  });

  itResending('a release whose reply was lost reports released', async () => {
    const lock = await bench.locks.acquire('lost-release');
    const cut = proxy.dropReply({ when: evalsha });
    expect(await lock.release()).toBe('released');
    await cut;
  });

  /** Lets another process wait for a lock. */
  const waitFor = async (name: string): Promise<{ waiting: Promise<Lock> }> => {
    const waiting = direct.locks.acquire(name, { waitMs: 60_000 });
    await eventually(async () => expect((await direct.raw.get(direct.keyOf(name)))?.[13]).toBe('1'));
    return { waiting };
  };

  it('work is not rejected because the reply to its release was lost and somebody else has the lock then', async () => {
    let next: Promise<Lock> | undefined;
    const worked = bench.locks.withLock('lost-release', {}, async () => {
      next = (await waitFor('lost-release')).waiting;
      void proxy.dropReply({ when: evalsha, until: next });
      return 'done';
    });
    expect(await worked).toBe('done');
    const taken = (await next) as Lock;
    expect(published.take()).not.toContainEqual(expect.arrayContaining(['lockLost']));
    expect(await taken.release()).toBe('released');
  });

  itResending('a release that was sent again and finds another owner reports neither released nor lost', async () => {
    const lock = await bench.locks.acquire(['lost-release-a', 'lost-release-b']);
    const { waiting } = await waitFor('lost-release-b');
    const isOfB = (request: string): boolean => evalsha(request) && request.includes('lost-release-b');
    const cut = proxy.dropReply({ when: isOfB, until: waiting });
    expect(await lock.release()).toBe('unknown');
    await cut;
    expect(await (await waiting).release()).toBe('released');
  });

  it('a renewal whose connection was reset before the reply is sent again', async () => {
    const lock = await bench.locks.acquire('renewal', { leaseMs: 4_500 });
    const { signal } = lock;
    const first = await direct.locks.status('renewal');
    const cut = proxy.dropReply({ when: evalsha });
    await cut;
    await lock.extend();
    expect(signal.aborted).toBe(false);
    const second = await direct.locks.status('renewal');
    expect(second).toMatchObject({ held: true, fence: lock.fence });
    expect(second.held && first.held && second.leaseEndsAtMs > first.leaseEndsAtMs).toBe(true);
    expect(await lock.release()).toBe('released');
  });

  it('a lease that was shortened by a call without a reply ends here no later than in Redis', async () => {
    const lock = await bench.locks.acquire('shortened', { leaseMs: 60_000, renew: false });
    const cut = proxy.dropReply({ when: evalsha }).then(() => proxy.refuse());
    const extended = lock.extend(400).catch((error: unknown) => error);
    await cut;
    await eventually(async () => expect((await direct.locks.status('shortened')).held).toBe(false));
    expect(lock.held).toBe(false);
    expect(await extended).toBeInstanceOf(Error);
  });

  it('SCRIPT FLUSH loses nothing', async () => {
    const flush = (): Promise<unknown> => direct.raw.script('FLUSH');
    await flush();
    const lock = await bench.locks.acquire('script-flush');
    await flush();
    await lock.extend();
    expect(await direct.locks.tryAcquire('script-flush')).toBeUndefined();
    await flush();
    expect(await lock.release()).toBe('released');
  });

  it('the next renewal finds the lock lost after FLUSHALL, and the next fence is higher', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const lock = await bench.locks.acquire('flushed', { leaseMs: 600 });
    const { signal } = lock;
    await direct.raw.flushall();
    const next = await direct.locks.acquire('flushed');
    expect(next.fence).toBeGreaterThan(lock.fence);
    await eventually(() => expect(signal.aborted).toBe(true));
    expect(await lock.release()).toBe('lost');
    expect(await next.release()).toBe('released');
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Lock flushed was lost before its release: /)]]);
    warn.mockRestore();
  });

  it('while Redis is paused the signal fires at the deadline, and afterwards nobody holds the lock', async () => {
    const lock = await bench.locks.acquire('paused', { leaseMs: 500 });
    const { signal } = lock;
    server.pause();
    try {
      await eventually(() => expect(signal.aborted).toBe(true));
      expect(() => lock.assertHeld()).toThrow(/is lost: /);
    } finally {
      server.resume();
    }
    await eventually(async () => expect((await direct.locks.status('paused')).held).toBe(false));
  });

  it('a waiter whose subscription was cut off subscribes again', async () => {
    const slow = await openBench(quiet(new Redis(server.port)), { pollMs: 60_000 }, { prefix: 'faults' });
    const lock = await direct.locks.acquire('cut-off', { leaseMs: 60_000 });
    const waiting = slow.locks.acquire('cut-off', { waitMs: 60_000 });
    const listeners = async (): Promise<unknown> =>
      ((await direct.raw.call('PUBSUB', 'SHARDNUMSUB', direct.keyOf('cut-off'))) as unknown[])[1];
    await eventually(async () => expect(await listeners()).toBe(1));
    const before = await direct.raw.call('CLIENT', 'LIST', 'TYPE', 'pubsub');
    await direct.raw.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => {
      expect(await listeners()).toBe(1);
      expect(await direct.raw.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).not.toBe(before);
    });
    await lock.release();
    await (await waiting).release();
    slow.close();
  });

  it.each([
    ['a server that stands still', () => server.pause(), () => server.resume()],
    ['a link that carries nothing', () => proxy.blackhole(), () => proxy.pass()],
  ])('acquisitions end in time on %s, and leave no lock behind', async (_title, fail, heal) => {
    const hasty = await openBench(quiet(new Redis(proxy.port)), { deadlineMs: 200 }, { prefix: 'faults' });
    const held = await direct.locks.acquire('silent-held', { leaseMs: 60_000, renew: false });
    const code = (error: { code?: string }): string | undefined => error.code;
    const wait = async (): Promise<{ waiting: Promise<unknown> }> => {
      const waiting = hasty.locks.acquire('silent-held', { waitMs: 300 }).catch(code);
      const seen = async (): Promise<void> =>
        expect((await direct.raw.get(direct.keyOf('silent-held')))?.[13]).toBe('1');
      await eventually(seen, { timeoutMs: 300 });
      return { waiting };
    };
    // On a slow machine, one may have left the queue before it is seen there.
    const { waiting } = await eventually(wait);
    fail();
    const startedAt = performance.now();
    try {
      const ended = await Promise.all([
        waiting,
        hasty.locks.tryAcquire('silent-a').catch(code),
        hasty.locks.acquire(['silent-b', 'silent-c'], { waitMs: 100 }).catch(code),
      ]);
      expect(['UNKNOWN_OUTCOME', 'LOCK_BUSY']).toContain(ended[0]);
      expect(ended.slice(1)).toEqual(['UNKNOWN_OUTCOME', 'UNKNOWN_OUTCOME']);
      // The registry's own deadline is 5 s.
      expect(performance.now() - startedAt).toBeLessThan(4_000);
    } finally {
      heal();
    }
    await held.release();
    await eventually(async () => {
      for (const name of ['silent-held', 'silent-a', 'silent-b', 'silent-c']) {
        expect((await direct.locks.status(name)).held).toBe(false);
      }
    });
    hasty.close();
  });

  it('a signal ends an acquisition at once, before it is sent, while it waits and while Redis is silent', async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const reason = new Error('no longer wanted');
    const held = await direct.locks.acquire('aborted');
    const waiting = [
      bench.locks.acquire('aborted', { waitMs: 60_000, signal }),
      bench.locks.withLock(['aborted', 'a-before'], { waitMs: 60_000, signal }, () => 1),
    ];
    await eventually(async () => expect((await direct.raw.get(direct.keyOf('aborted')))?.[13]).toBe('1'));
    server.pause();
    try {
      waiting.push(
        bench.locks.acquire('silent', { signal }),
        bench.locks.tryAcquire('silent-too', { signal }) as never,
      );
      stop.abort(reason);
      const ended = await Promise.allSettled([...waiting, bench.locks.acquire('late', { signal })]);
      expect(ended).toEqual(ended.map(() => ({ status: 'rejected', reason })));
    } finally {
      server.resume();
    }
    await eventually(async () => {
      for (const name of ['a-before', 'silent', 'silent-too']) {
        const { held: stillHeld, fence } = await direct.locks.status(name);
        // Each was taken, and given back.
        expect([stillHeld, fence > 0]).toEqual([false, true]);
      }
      expect((await direct.raw.get(direct.keyOf('aborted')))?.[13]).toBe('0');
    });
    expect((await direct.locks.status('late')).fence).toBe(0);
    expect(await held.release()).toBe('released');
  });
});
