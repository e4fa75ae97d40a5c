// What waits costs Redis at most one command a second for each process, however much waits. An hour passes by the clock of the libs.
import { Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { QUICK, openBench as openPackets } from '../libs/red-packet/test/support';
import { define, group, openBench as openStreams, quiet } from '../libs/stream-consumer/test/support';
import { ManualTime, turn } from './support/manual-time';
import { uniquePrefix } from './support/shared-servers';
import { eventually } from './support/wait';

const HOUR = 3_600;
/** Time that passes at once, s: shorter than each pause between two checks. */
const STEP = 5;

interface Waiting {
  readonly registry: ScriptRegistry;
  readonly channels: number;
  close(): Promise<unknown>;
}

const SCENES: readonly [string, (client: Redis) => Promise<Waiting>][] = [
  [
    'consumers of 24 partitions',
    async (client) => {
      const bench = await openStreams(client, { partitions: 24 });
      for (let i = 0; i < 4; i++) await bench.streams.handle(group('s', `g${i}`), () => undefined);
      return { registry: bench.registry, channels: 24 + 1, close: () => bench.close() };
    },
  ],
  [
    'a consumer of 16 keys of another program, which is woken and does not poll',
    async (client) => {
      const bench = await openStreams(client);
      const keys = Array.from({ length: 16 }, (_, i) => `${bench.prefix}:{row-${i}}`);
      define(bench.streams, { name: 'rows', keys });
      await Promise.all(keys.map((key) => client.xadd(key, '*', 'n', 1)));
      const options = group('rows', 'g', { pollMs: HOUR * 1_000, from: 'end' });
      await bench.streams.handle(options, () => undefined);
      return { registry: bench.registry, channels: 16 + 1, close: () => bench.close() };
    },
  ],
  [
    'a payout run with an activity in each of many partitions',
    async (client) => {
      const bench = await openPackets(client, { prefix: uniquePrefix() });
      for (let i = 0; i < 50; i++) await bench.packets.create({ activityId: `a${i}`, totalCents: 100, packets: 10 });
      const run = bench.payouts.run(() => undefined, QUICK);
      return {
        registry: bench.registry,
        channels: 16,
        close: async () => {
          await run.stop();
          bench.close();
        },
      };
    },
  ],
];

describe('while nothing happens', () => {
  const time = new ManualTime();
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = quiet(new Redis(server.port));
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  /** Commands that scripts and clients have sent. */
  async function commands(): Promise<number> {
    const stats = await admin.info('commandstats');
    return [...stats.matchAll(/^cmdstat_(?!info)[^:]+:calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  }

  it.each(SCENES)('%s send at most one command a second', async (_, open) => {
    const scene = await open(quiet(new Redis(server.port)));
    const running = new Set<Promise<unknown>>();
    const run = scene.registry.run.bind(scene.registry) as (...args: unknown[]) => Promise<unknown>;
    jest.spyOn(scene.registry, 'run').mockImplementation((...args: unknown[]) => {
      const call = run(...args).finally(() => running.delete(call));
      running.add(call);
      return call;
    });
    const allReplied = async (): Promise<void> => {
      for (await turn(); running.size > 0; await turn()) await Promise.allSettled(running);
    };
    await eventually(async () => {
      const channels = (await admin.call('PUBSUB', 'SHARDCHANNELS')) as string[];
      expect(channels.length).toBeGreaterThanOrEqual(scene.channels);
    });
    await allReplied();
    const before = await commands();
    for (let passed = 0; passed < HOUR; passed += STEP) {
      await time.pass(STEP * 1_000);
      await allReplied();
    }
    const sent = (await commands()) - before;
    expect(sent).toBeLessThanOrEqual(HOUR);
    // The idle checks were made.
    expect(sent).toBeGreaterThan(HOUR / 10);
    await scene.close();
  });
});
