import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Cluster, Redis } from 'ioredis';
import { defineStream, StreamConsumerEvents } from 'luanest/stream-consumer';
import { startCluster, startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually, sleep } from '../../../test/support/wait';
import { define, group, openBench, quiet, type Bench } from './support';

const SETTING = ['--notify-keyspace-events', 'Kt'];
/** So rarely that only an event of the key explains that an entry was seen. */
const NEVER_MS = 3_600_000;

async function consume(bench: Bench, keys: readonly string[], pollMs = NEVER_MS): Promise<string[]> {
  const seen: string[] = [];
  define(bench.streams, defineStream({ name: 'rows', keys }));
  await bench.streams.handle(group('rows', 'g', { pollMs }), ({ payload }) => {
    seen.push((payload as { n: string }).n);
  });
  return seen;
}

/** Waits until the consumer has read the empty keys, and read again because its subscriptions began. */
const asleep = () => sleep(500);

describe('a server with events of keys', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ args: SETTING });
  });
  afterAll(() => server.stop());

  it('wakes consumers when another program adds an entry, also after the connection for channels was lost', async () => {
    const bench = await openBench(quiet(new Redis(server.port, { db: 2 })));
    const { raw } = bench;
    await raw.xadd('first', '*', 'n', '0');
    const seen = await consume(bench, ['first', 'second']);
    await eventually(() => expect(seen).toEqual(['0']));
    await asleep();
    for (const n of ['1', '2']) {
      await raw.xadd('first', '*', 'n', n);
      await eventually(() => expect(seen.at(-1)).toBe(n));
    }
    // A key that did not exist.
    await raw.xadd('second', '*', 'n', '3');
    await eventually(() => expect(seen.at(-1)).toBe('3'));
    await raw.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await raw.xadd('second', '*', 'n', '4');
    await eventually(() => expect(seen.at(-1)).toBe('4'));
    await asleep();
    await raw.xadd('first', '*', 'n', '5');
    await eventually(() => expect(seen.at(-1)).toBe('5'));
    await bench.close();
  });

  it('is only polled by a user who may not read the channels of the events, and nothing is reported', async () => {
    const admin = new Redis(server.port);
    await admin.call('ACL', 'SETUSER', 'partly', 'reset', 'on', '>pass', '+@all', '~*', 'resetchannels');
    const bench = await openBench(quiet(new Redis({ port: server.port, username: 'partly', password: 'pass' })));
    await admin.call('ACL', 'SETUSER', 'partly', `&${bench.prefix}:*`);
    const failures: unknown[] = [];
    const listener = (event: unknown): void => void failures.push(event);
    subscribe(StreamConsumerEvents.callFailed, listener);
    await admin.call('CONFIG', 'RESETSTAT');
    const seen = await consume(bench, ['polled'], 50);
    await asleep();
    await admin.xadd('polled', '*', 'n', '1');
    await eventually(() => expect(seen).toEqual(['1']));
    unsubscribe(StreamConsumerEvents.callFailed, listener);
    expect(failures).toEqual([]);
    // It is not tried again at each poll.
    expect(await admin.info('commandstats')).toMatch(/cmdstat_subscribe:calls=0,.*rejected_calls=1,/);
    await bench.close();
    admin.disconnect();
  });
});

it('a Cluster with events of keys wakes consumers from each of its masters', async () => {
  const cluster = await startCluster({ masters: 2, replicas: 0, args: SETTING });
  const bench = await openBench(quiet(new Cluster([...cluster.nodes], { slotsRefreshTimeout: 5_000 })));
  // Slots 12182 and 5061.
  const seen = await consume(bench, ['foo', 'bar']);
  await asleep();
  for (const [n, key] of ['foo', 'bar', 'foo'].entries()) {
    await bench.raw.xadd(key, '*', 'n', n);
    await eventually(() => expect(seen.at(-1)).toBe(String(n)));
  }
  await bench.close();
  await cluster.stop();
});

it('a server without events of keys is polled', async () => {
  const server = await startRedis();
  const bench = await openBench(quiet(new Redis(server.port)));
  const seen = await consume(bench, ['rows'], 100);
  await asleep();
  await bench.raw.xadd('rows', '*', 'n', '1');
  await eventually(() => expect(seen).toEqual(['1']));
  await bench.close();
  await server.stop();
});
