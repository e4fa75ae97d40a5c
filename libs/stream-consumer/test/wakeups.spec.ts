import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { itIoredis } from '../../../test/support/client-kind';
import { eventually } from '../../../test/support/wait';
import { idleChecksOf } from '../../internal/src';
import { group, openBench, quiet, type Bench } from './support';

const HOUR = 3_600_000;

describe('waking', () => {
  let server: RedisServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startRedis();
    bench = await openBench(quiet(new Redis(server.port)));
  });
  afterAll(async () => {
    await bench.close();
    await server.stop();
  });

  /** Until the partition was found empty and the consumer listens for publishes. */
  async function asleep(stream: string): Promise<void> {
    const { woken } = bench.keys(stream, 'g');
    await eventually(async () => {
      expect(await bench.raw.exists(woken)).toBe(0);
      expect(await bench.raw.call('PUBSUB', 'SHARDNUMSUB', woken)).toEqual([woken, 1]);
    });
  }

  /** Redis' time, ms. */
  async function redisNow(): Promise<number> {
    const [seconds, micros] = await bench.raw.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  async function handled(stream: string, times: number[]): Promise<number> {
    const before = times.length;
    const publishedAt = performance.now();
    await bench.streams.publish(stream, 1);
    await eventually(() => expect(times.length).toBe(before + 1), { everyMs: 1, timeoutMs: 20_000 });
    return (times.at(-1) as number) - publishedAt;
  }

  it('a publish wakes an idle consumer at once', async () => {
    const times: number[] = [];
    await bench.streams.handle(group('wakes', 'g'), () => void times.push(performance.now()));
    for (let i = 0; i < 20; i++) {
      await asleep('wakes');
      expect(await handled('wakes', times)).toBeLessThan(5_000);
    }
  });

  it('a message whose publisher did not wake the consumer is found by the idle check', async () => {
    const times: number[] = [];
    await bench.streams.handle(group('net', 'g'), () => void times.push(performance.now()));
    const { woken } = bench.keys('net', 'g');
    await asleep('net');
    await sleep(300);
    await bench.raw.set(woken, '1', 'PX', 60_000);
    await bench.streams.publish('net', 1);
    await sleep(300);
    expect(times).toHaveLength(0);
    await idleChecksOf(bench.registry).checkAll();
    await eventually(() => expect(times).toHaveLength(1));
  });

  it('the loss of the connection that listens wakes it, and the connection is opened again', async () => {
    const times: number[] = [];
    await bench.streams.handle(group('cut', 'g'), () => void times.push(performance.now()));
    for (let i = 0; i < 3; i++) {
      await asleep('cut');
      await bench.raw.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
      expect(await handled('cut', times)).toBeLessThan(10_000);
    }
  });

  it('a retry that is due is taken when it is due, also one of another process that is gone', async () => {
    const other = await openBench(quiet(new Redis(server.port)), {}, { prefix: bench.prefix });
    // Long, so that only one attempt is made before the other process is gone.
    const options = group('due', 'g', { backoff: { delayMs: HOUR, maxDelayMs: HOUR } });
    const first = await other.streams.handle(options, () => {
      throw new Error('not here');
    });
    await bench.streams.publish('due', 1);
    await eventually(async () => expect(await bench.streams.stats('due', 'g')).toMatchObject({ due: 1 }));
    await first.stop();
    const { due } = bench.keys('due', 'g');
    const [id = ''] = await bench.raw.zrange(due, '0', '-1');
    const dueAt = (await redisNow()) + 1_000;
    await bench.raw.zadd(due, 'XX', dueAt, id);
    const taken: { attempt: number; at: number }[] = [];
    // The end of a lease would wake it much later.
    await bench.streams.handle({ ...options, leaseMs: 600_000 }, async ({ attempt }) => {
      taken.push({ attempt, at: await redisNow() });
    });
    await eventually(() => expect(taken).toMatchObject([{ attempt: 2 }]));
    expect(taken[0]?.at).toBeGreaterThanOrEqual(dueAt);
    await other.close();
  });

  it('a user who may not wake consumers is refused, with the reason, and publishes nothing', async () => {
    await bench.raw.call('ACL', 'SETUSER', 'mute', 'on', '>pass', '+@all', '~*', 'resetchannels');
    const client = quiet(new Redis({ port: server.port, username: 'mute', password: 'pass' }));
    const mute = await openBench(client, {}, { prefix: bench.prefix });
    const refused =
      /the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed/;
    const { stream, woken } = bench.keys('mute', 'g');
    await expect(mute.streams.publish('mute', 1, { operationId: 'o' })).rejects.toThrow(refused);
    await expect(mute.streams.publishMany('mute', [{ payload: 1 }, { payload: 2 }])).rejects.toThrow(refused);
    expect(await bench.raw.exists(stream, woken)).toBe(0);
    // The operation id is free.
    expect(await bench.streams.publish('mute', 1, { operationId: 'o' })).toMatchObject({ status: 'published' });
    await mute.close();
  });

  itIoredis('connections do not grow with partitions and groups', async () => {
    const own = await startRedis();
    const count = async (partitions: number, groups: number): Promise<number> => {
      const one = await openBench(quiet(new Redis(own.port)), { partitions });
      for (let i = 0; i < groups; i++) await one.streams.handle(group('s', `g${i}`), () => undefined);
      await eventually(async () => {
        for (let i = 0; i < partitions; i++) {
          const { woken } = one.keys('s', 'g0', i);
          expect(await one.raw.call('PUBSUB', 'SHARDNUMSUB', woken)).toEqual([woken, 1]);
        }
      });
      const clients = (await one.raw.client('LIST')) as string;
      await one.close();
      return clients.trim().split('\n').length;
    };
    const few = await count(1, 1);
    await eventually(async () => {
      const admin = new Redis(own.port);
      const clients = (await admin.client('LIST')) as string;
      admin.disconnect();
      expect(clients.trim().split('\n')).toHaveLength(1);
    });
    expect(few).toBe(2);
    expect(await count(24, 5)).toBe(few);
    await own.stop();
  });
});
