import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { withAdmin } from '../../testing/src/servers/admin';
import { sharedClusterNodes } from '../../../test/support/shared-servers';
import { main } from '../src/main';
import type { Sample } from '../src/top/sample';
import { linesOf, ratesOf } from '../src/top/view';
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
