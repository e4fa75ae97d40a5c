import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { defineStream, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { withAdmin } from '../../testing/src/servers/admin';
import { sharedClusterNodes, sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import { main } from '../src/main';
import type { Sample } from '../src/top/sample';
import { linesOf, ratesOf } from '../src/top/view';
import type { WorkCounts, WorkSample } from '../src/top/work';
import { workLines } from '../src/top/work-view';
import { luanest } from './support';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Runs a script until the work has ended. */
async function busyDuring<T>(work: Promise<T>): Promise<T> {
  let running = true;
  const ended = work.finally(() => (running = false));
  await withAdmin(redis, async (admin) => {
    const sha = await admin.call('SCRIPT', 'LOAD', "return redis.call('SET', KEYS[1], '1')");
    while (running) await admin.call('EVALSHA', String(sha), '1', 'k');
  });
  return ended;
}

it('prints the rates of commands once, with scripts marked, and adds up the masters of a Cluster', async () => {
  const [node] = sharedClusterNodes() as [{ host: string; port: number }];
  const clusterArgs = ['top', '--redis', `redis://${node.host}:${node.port}`, '--cluster', '--once'];
  const [{ status, printed }, ofCluster] = await busyDuring(
    Promise.all([luanest(['top', '--redis', redis.url, '--once']), luanest(clusterArgs)]),
  );
  expect(ofCluster.printed).toContain('3 masters');
  expect(ofCluster.printed).toMatch(/^info +[\d.]+/m);
  expect(status).toBe(0);
  const [head, sums, , titles, ...rows] = printed.split('\n');
  expect(head).toContain(`127.0.0.1:${redis.port}   1 server`);
  expect(sums).toMatch(/^[\d.]+ commands\/s {3}[\d.]+ % busy {3}\d+ clients {3}1 keys/);
  expect(titles).toMatch(/^command +calls\/s +failed\/s/);
  const callsOf = (name: string): number =>
    Number(
      rows
        .find((line) => line.startsWith(name))
        ?.slice(22)
        .trim()
        .split(/ +/)[0],
    );
  expect(callsOf('evalsha *')).toBeGreaterThan(1);
  expect(callsOf('set ')).toBeGreaterThan(1);
});

it('draws the screen again and again until q', async () => {
  const drawn: (readonly string[])[] = [];
  let press: (key: string) => void = () => undefined;
  let restored = 0;
  const status = await busyDuring(
    main(['top', '--redis', redis.url], {
      folder: __dirname,
      environment: {},
      colours: false,
      print: () => undefined,
      complain: () => undefined,
      interrupted: () => Promise.resolve(),
      screen: {
        size: () => ({ rows: 8, columns: 40 }),
        draw: (lines) => {
          drawn.push(lines);
          if (drawn.length === 2) press('q');
        },
        listen: (pressed) => {
          press = pressed;
          return () => (restored += 1);
        },
      },
    }),
  );
  expect({ status, restored, drawn: drawn.length }).toEqual({ status: 0, restored: 1, drawn: 2 });
  for (const lines of drawn) {
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  }
});

it('says that nobody listens, without a stack', async () => {
  const { status, complained } = await luanest(['top', '--redis', 'redis://127.0.0.1:1']);
  expect(status).toBe(1);
  expect(complained).toBe('luanest top: 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1');
});

describe.each([
  ['standalone', standaloneClient, () => ['--redis', sharedRedisUrl()]],
  [
    'Cluster',
    clusterClient,
    () => {
      const [node] = sharedClusterNodes() as [{ host: string; port: number }];
      return ['--redis', `redis://${node.host}:${node.port}`, '--cluster'];
    },
  ],
] as const)('queues and streams on %s', (_, connect, address) => {
  it('are counted as their services count them, and what a group has settled is a rate', async () => {
    const [client, prefix] = [connect(), uniquePrefix()];
    class App {}
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix }),
        DelayedTaskModule.forRoot({ work: false, queues: { mail: { partitions: 3 } } }),
        StreamConsumerModule.forRoot(),
      ],
    })(App);
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    const [mail, streams] = [app.get(DelayedTaskService).queue('mail'), app.get(StreamConsumerService)];
    const orders = defineStream<number>({ name: 'orders', partitions: 2 });
    await Promise.all([0, 0, 3_600_000].map((delayMs) => mail.schedule('send', {}, { delayMs })));
    const fast = await streams.handle({ stream: orders, group: 'fast' }, () => undefined);
    await (await streams.handle({ stream: orders, group: 'slow' }, () => undefined)).stop();
    await streams.publish(orders, 0);
    let n = 0;
    const publishing = setInterval(() => void streams.publish(orders, ++n), 50);
    const { status, printed } = await luanest(['top', ...address(), '--prefix', prefix, '--once']);
    clearInterval(publishing);
    const cells = (name: string): string[] => {
      const line = printed.split('\n').find((one) => one.startsWith(`${name} `)) ?? '';
      return line.slice(37).trim().split(/ +/);
    };
    expect(status).toBe(0);
    expect(cells('queue mail').slice(0, 6)).toEqual(['3', '2', '0', '0', '-', '0']);
    expect(cells('queue default')).toEqual(['0', '0', '0', '0', '-', '0', '-']);
    expect(Number(cells('stream orders > fast')[4])).toBeGreaterThan(1);
    const [waiting = '', , , , , change = ''] = cells('stream orders > slow');
    expect(Number(waiting)).toBeGreaterThan(5);
    expect(Number(change)).toBeGreaterThan(1);
    await fast.stop();
    await app.close();
    client.disconnect();
  });
});

describe('the table of work', () => {
  const counts = (over: Partial<WorkCounts>): WorkCounts => {
    return { waiting: 0, due: 0, running: 0, dead: 0, oldestMs: 0, ...over };
  };
  const moment = (atMs: number, ...all: [string, Partial<WorkCounts>][]): WorkSample => {
    return { atMs, unread: 0, counts: new Map(all.map(([name, over]) => [name, counts(over)])) };
  };
  const rowsOf = (lines: readonly string[]) => lines.map((line) => line.trim().split(/ {2,}/));

  it('has the oldest work first, rates by time, and how many rows do not fit', () => {
    const before = moment(0, ['queue a', { waiting: 10 }], ['stream s > g', { settled: 100 }]);
    const after = moment(
      2_000,
      ['queue a', { waiting: 4, running: 1, oldestMs: 90_000 }],
      ['stream s > g', { settled: 300, oldestMs: 7_200_000 }],
      ['queue new', { waiting: 5 }],
    );
    expect(rowsOf(workLines(before, after, 9))).toEqual([
      ['queue, or stream > group', 'waiting', 'due', 'running', 'dead', 'done/s', 'change/s', 'oldest'],
      ['stream s > g', '0', '0', '0', '0', '100', '0', '2h'],
      ['queue a', '4', '0', '1', '0', '-', '-2.5', '1m'],
      ['queue new', '5', '0', '0', '0', '-', '0', '-'],
      [''],
    ]);
    expect(rowsOf(workLines(before, after, 3))[2]).toEqual(['... and 2 more']);
    expect(workLines(before, after, 2)).toEqual([]);
    expect(workLines(before, { ...after, problem: 'NOPERM' }, 9)[0]).toBe('Queues and streams cannot be read: NOPERM');
  });
});

describe('rates', () => {
  const sample = (atMs: number, calls: number, usec: number, failed = 0): Sample => ({
    atMs,
    commands: new Map([['get', { calls, usec, failed, p99Usec: 9 }]]),
    clients: 1,
    memory: 2 ** 21,
    keys: 3,
    servers: 2,
  });

  it('are differences in time, and of a restarted server counted from its start', () => {
    expect(ratesOf(sample(0, 100, 1_000), sample(2_000, 300, 41_000, 4))).toEqual([
      {
        command: 'get',
        script: false,
        callsPerSecond: 100,
        failedPerSecond: 2,
        usecPerCall: 200,
        p99Usec: 9,
        busyPercent: 1,
      },
    ]);
    expect(ratesOf(sample(0, 100, 1_000), sample(2_000, 20, 40))).toMatchObject([
      { callsPerSecond: 10, usecPerCall: 2 },
    ]);
    expect(ratesOf(sample(0, 5, 5), sample(2_000, 5, 5))).toEqual([]);
  });

  it('fit on a screen of any size', () => {
    for (const rows of [1, 5, 6, 7, 40])
      expect(linesOf('x', sample(0, 0, 0), sample(1, 9, 9), { rows, columns: 10 }).length).toBeLessThanOrEqual(rows);
  });
});
