// Consumers and workers that sleep until a message wakes them, and how that message gets lost.
import type { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { connect, handledAfter, SLEEPERS, type Sleeper } from './support/sleepers';
import { uniquePrefix } from './support/shared-servers';
import { eventually, sleep } from './support/wait';

/** Longest time to the handler, ms: a try each second, and more for a machine that stands still. */
const SOON = 10_000;

describe.each(SLEEPERS)('an idle %s', (_, open) => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  let prefix: string;
  const opened: Sleeper[] = [];
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
    admin = connect(server.port);
  });
  beforeEach(() => (prefix = uniquePrefix()));
  afterEach(async () => {
    proxy.pass();
    await Promise.all(opened.splice(0).map((sleeper) => sleeper.close()));
  });
  afterAll(async () => {
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const opens = async (...[client, options]: [Redis, Parameters<typeof open>[2]?]): Promise<Sleeper> => {
    const sleeper = await open(client, prefix, options);
    opened.push(sleeper);
    return sleeper;
  };

  async function wakes(sleeper: Sleeper, n: number): Promise<void> {
    await sleeper.asleep(admin);
    const sentAt = performance.now();
    await sleeper.send(n);
    expect(await handledAfter(sleeper, n, sentAt, SOON)).toBeLessThan(SOON);
  }

  it('wakes for what is sent while its connection for channels is cut and refused, and after it is back', async () => {
    const sleeper = await opens(connect(server.port, proxy.port));
    await sleeper.asleep(admin);
    proxy.refuse();
    const sentAt = performance.now();
    await sleeper.send(1);
    expect(await handledAfter(sleeper, 1, sentAt, SOON)).toBeLessThan(SOON);
    proxy.pass();
    await wakes(sleeper, 2);
  });

  it('wakes for what another process sends while it has no connection at all', async () => {
    const sleeper = await opens(connect(proxy.port));
    await sleeper.asleep(admin);
    proxy.refuse();
    await eventually(async () => {
      expect(await admin.call('PUBSUB', 'SHARDNUMSUB', sleeper.mark)).toEqual([sleeper.mark, 0]);
    });
    const other = await opens(connect(server.port), { sendsOnly: true });
    await other.send(1);
    await sleep(300);
    expect(sleeper.handled).toEqual([]);
    const backAt = performance.now();
    proxy.pass();
    expect(await handledAfter(sleeper, 1, backAt, SOON)).toBeLessThan(SOON);
    await wakes(sleeper, 2);
  });

  it('wakes for what is sent around a reset that comes back at once', async () => {
    const sleeper = await opens(connect(proxy.port));
    for (let n = 0; n < 4; n++) {
      await sleeper.asleep(admin);
      if (n % 2 === 0) proxy.cut();
      const sentAt = performance.now();
      await eventually(() => sleeper.send(n));
      if (n % 2 === 1) proxy.cut();
      expect(await handledAfter(sleeper, n, sentAt, SOON)).toBeLessThan(SOON);
    }
  });

  it('wakes after FLUSHALL', async () => {
    const sleeper = await opens(connect(server.port));
    await wakes(sleeper, 1);
    await sleeper.asleep(admin);
    await admin.flushall();
    await wakes(sleeper, 2);
    await wakes(sleeper, 3);
  });

  it('wakes after its mark was deleted, before and while messages come', async () => {
    const sleeper = await opens(connect(server.port));
    for (let n = 0; n < 20; n++) {
      if (n % 4 === 0) await sleeper.asleep(admin);
      await admin.del(sleeper.mark);
      const sentAt = performance.now();
      await sleeper.send(n);
      if (n % 2 === 0) await admin.del(sleeper.mark);
      expect(await handledAfter(sleeper, n, sentAt, SOON)).toBeLessThan(SOON);
    }
  });

  it('takes over soon after the lease ended of a process that died, whose lease began after its own last take', async () => {
    const leaseMs = 1_500;
    // It is woken later than the other one, which so gets the message.
    const slow = await startFaultProxy(server);
    slow.delay(50);
    const sleeper = await opens(connect(slow.port), { leaseMs });
    await sleeper.asleep(admin);
    const held: number[] = [];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    await opens(connect(proxy.port), {
      leaseMs,
      handle: (n) => {
        held.push(n);
        return ended;
      },
    });
    await sleeper.asleep(admin, 2);
    await sleeper.send(1);
    await eventually(() => expect(held).toEqual([1]));
    // It renews its lease no more, and takes nothing.
    proxy.refuse();
    const diedAt = performance.now();
    const afterMs = await handledAfter(sleeper, 1, diedAt, leaseMs + SOON);
    // A little early, since the last renewal or the take was before the death.
    expect(afterMs).toBeGreaterThan(leaseMs / 4);
    expect(afterMs).toBeLessThan(leaseMs + 5_000);
    end();
    proxy.pass();
    await Promise.all(opened.splice(0).map((one) => one.close()));
    await slow.stop();
  });
});
