import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis } from 'ioredis';
import { StreamConsumerEvents, type StreamConsumerOptions } from 'luanest/stream-consumer';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { eventually, sleep } from '../../../test/support/wait';
import { group, openBench, quiet, type Bench } from './support';

const retryStrategy = (): number => 20;

/** Publishes 0, 1, 2 and so on until `stop`, each until Redis has it. */
class Stream {
  published = 0;
  private stopping = false;
  private readonly running: Promise<void>;

  constructor(
    private readonly bench: Bench,
    private readonly name: string,
  ) {
    this.running = this.run();
  }

  async stop(): Promise<number> {
    this.stopping = true;
    await this.running;
    return this.published;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      const n = this.published;
      // With its operation id, a publish whose outcome is unknown is made again.
      await eventually(() => this.bench.streams.publish(this.name, n, { operationId: `o${n}` }), { timeoutMs: 30_000 });
      this.published += 1;
      if (n % 10 === 0) await sleep(1);
    }
  }
}

describe('a consumer on a server of its own', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let bench: Bench;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    proxy = await startFaultProxy(server);
    bench = await openBench(
      quiet(new Redis(proxy.port, { retryStrategy })),
      { watchEveryMs: 200 },
      { deadlineMs: 3_000 },
    );
    admin = quiet(new Redis(server.port, { retryStrategy }));
  });
  afterAll(async () => {
    await bench.close();
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const settled = async (stream: string): Promise<void> => {
    await eventually(
      async () => {
        expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0, parked: 0 });
      },
      { timeoutMs: 30_000 },
    );
  };

  /** Handles a stream of messages while the faults happen; answers how often each was handled. */
  async function through(
    stream: string,
    more: Partial<StreamConsumerOptions>,
    faults: () => Promise<unknown>,
  ): Promise<number[]> {
    const times: number[] = [];
    const handle = await bench.streams.handle<number>(
      group(stream, 'g', { attempts: 100, ...more }),
      async ({ payload }) => {
        await sleep(1);
        if (Math.random() < 0.05) throw new Error('one attempt in twenty fails');
        times[payload] = (times[payload] ?? 0) + 1;
      },
    );
    const publisher = new Stream(bench, stream);
    await eventually(() => expect(times.length).toBeGreaterThan(20));
    await faults();
    const before = times.length;
    await eventually(() => expect(times.length).toBeGreaterThan(before + 20), { timeoutMs: 30_000 });
    const published = await publisher.stop();
    await settled(stream);
    await handle.stop();
    expect(Array.from({ length: published }, (_, n) => times[n] ?? 0).filter((count) => count === 0)).toEqual([]);
    return times;
  }

  it.each([false, true])('outlives SCRIPT FLUSH, ordered %s: each message is handled once', async (ordered) => {
    const times = await through(`flush-${ordered}`, { ordered }, async () => {
      for (let i = 0; i < 10; i++) {
        await admin.script('FLUSH');
        await sleep(10);
      }
    });
    expect(times.filter((count) => count !== 1)).toEqual([]);
  });

  it.each([false, true])('outlives resets of its connections, and lost replies, ordered %s', async (ordered) => {
    const times = await through(`reset-${ordered}`, { ordered }, async () => {
      for (let i = 0; i < 8; i++) {
        if (i % 2 === 0) proxy.cut();
        else await proxy.dropReply({ when: (request) => /evalsha/i.test(request) });
        await sleep(50);
      }
    });
    // A lease outlives a reset, and scripts give a replay the first answer: nothing is handled twice.
    expect(times.filter((count) => count !== 1)).toEqual([]);
  });

  it('outlives a network that swallows everything for longer than its lease', async () => {
    await through('blackhole', { leaseMs: 2_000 }, async () => {
      proxy.blackhole();
      await sleep(3_500);
      proxy.pass();
    });
  });

  it('outlives a Redis that is killed and comes back', async () => {
    await through('restart', {}, async () => {
      await server.kill();
      await sleep(1_000);
      await server.restart();
    });
  });

  it('outlives the deletion of its group, and of the whole stream', async () => {
    const keys = bench.keys('deleted', 'g');
    await through('deleted', {}, async () => {
      await admin.xgroup('DESTROY', keys.stream, 'g');
      await sleep(100);
    });
    const seen: number[] = [];
    await bench.streams.handle<number>(group('gone', 'g', { ordered: true }), ({ payload }) => void seen.push(payload));
    for (let i = 0; i < 5; i++) {
      await bench.streams.publish('gone', i, { key: 'k' });
      await eventually(() => expect(seen).toHaveLength(i + 1));
      await admin.del(bench.keys('gone', 'g').stream);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4]);
  });

  it('empties a Redis whose memory is full, where nothing can be published', async () => {
    const seen: number[] = [];
    for (let i = 0; i < 50; i++) await bench.streams.publish('full', i);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1');
    try {
      await expect(bench.streams.publish('full', 50)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' });
      await bench.streams.handle<number>(group('full', 'g', { attempts: 2 }), ({ payload, attempt }) => {
        if (payload % 5 === 0 && attempt === 1) throw new Error('again');
        if (payload % 10 === 1) throw new Error('never');
        seen.push(payload);
      });
      await settled('full');
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    expect(seen).toHaveLength(45);
    expect((await bench.streams.stats('full', 'g')).dead).toBe(5);
  });

  it('says so when a key has another type, and goes on when it has not', async () => {
    const keys = bench.keys('typed', 'g');
    const said: StreamConsumerEvents['callFailed'][] = [];
    const listener = (event: unknown): void => void said.push(event as StreamConsumerEvents['callFailed']);
    subscribe(StreamConsumerEvents.callFailed, listener);
    for (const name of ['sessions', 'takes', 'due', 'tries'] as const) {
      const seen: unknown[] = [];
      const handle = await bench.streams.handle(group('typed', 'g'), ({ payload }) => void seen.push(payload));
      await bench.streams.publish('typed', 'before');
      await eventually(() => expect(seen).toEqual(['before']));
      // An acknowledgement that came after the session was lost would have it handled again.
      await settled('typed');
      said.length = 0;
      await admin.del(keys[name]);
      await admin.set(keys[name], 'nonsense');
      await bench.streams.publish('typed', name);
      await eventually(() =>
        expect(said.map(({ stream, error }) => [stream, String(error)])).toContainEqual([
          'typed',
          expect.stringContaining('WRONGTYPE'),
        ]),
      );
      expect(seen).toEqual(['before']);
      await admin.del(keys[name]);
      await eventually(() => expect(seen).toEqual(['before', name]));
      await settled('typed');
      await handle.stop();
    }
    unsubscribe(StreamConsumerEvents.callFailed, listener);
  });
});
