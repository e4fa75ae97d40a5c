import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cluster, Redis } from 'ioredis';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { defineStream, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { startCluster, startRedis, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { luanest, type Run } from './support';

jest.setTimeout(60_000);

const LINK = /http:\/\/127\.0\.0\.1:\d+\/console\/\?token=[\w-]+/;

interface Reply {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests compare what they look at
  readonly body: Record<string, any>;
}

interface Page {
  readonly link: string;
  readonly get: (path: string) => Promise<Reply>;
  readonly post: (route: 'preview' | 'act', body: object) => Promise<Reply>;
}

async function replyOf(reply: Response): Promise<Reply> {
  return { status: reply.status, body: (await reply.json()) as Reply['body'] };
}

/** Runs `luanest console` while a browser uses it. */
async function withConsole(args: readonly string[], use: (page: Page) => Promise<void>): Promise<Run> {
  return luanest(['console', ...args], {
    interrupted: async (printed) => {
      const [link = ''] = LINK.exec(printed) ?? [];
      const opened = await fetch(link, { redirect: 'manual' });
      expect([opened.status, opened.headers.get('location')]).toEqual([302, '/console/']);
      const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
      const base = link.slice(0, link.indexOf('?'));
      const get = async (path: string) => replyOf(await fetch(`${base}${path}`, { headers: { cookie } }));
      const { body: me } = await get('api/me');
      const headers = { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
      const post = async (route: string, body: object) => {
        const init = {
          method: 'POST',
          headers: { ...headers, 'x-luanest-console': String(me['csrf']) },
          body: JSON.stringify(body),
        };
        return replyOf(await fetch(`${base}api/${route}`, init));
      };
      await use({ link, get, post });
    },
  });
}

// Servers of their own: the command visits 100,000 keys, and other tests may have filled the shared servers with more.
let redis: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([startRedis(), startCluster({ masters: 3, replicas: 0 })]);
});
afterAll(() => Promise.all([redis.stop(), cluster.stop()]));

const servers: [string, () => Redis | Cluster, () => string[]][] = [
  ['standalone', () => new Redis(redis.url), () => ['--redis', redis.url]],
  ['Cluster', () => new Cluster([...cluster.nodes]), () => ['--redis', cluster.nodes[0]?.url ?? '', '--cluster']],
];

describe.each(servers)('luanest console on %s', (_, connect, address) => {
  let app: INestApplicationContext;
  let client: Redis | Cluster;
  let prefix: string;

  /** An app whose queues, streams, locks and red packets are in Redis. */
  beforeEach(async () => {
    [client, prefix] = [connect(), uniquePrefix()];
    class App {}
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix }),
        DelayedTaskModule.forRoot({ partitions: 2, work: false, queues: { mail: { partitions: 3 } } }),
        StreamConsumerModule.forRoot(),
        LockModule.forRoot({ node: 'node-1' }),
        RedPacketModule.forRoot({ identity: () => 'ann', controller: false, partitions: 4 }),
      ],
    })(App);
    app = await NestFactory.createApplicationContext(App, { logger: false });
    await app.get(DelayedTaskService).schedule('send', { to: 'ann' }, { id: 'task-1', delayMs: 3_600_000 });
    await app.get(DelayedTaskService).queue('mail').schedule('send', {}, { id: 'task-2', delayMs: 3_600_000 });
    await app.get(StreamConsumerService).publish(defineStream<number>({ name: 'orders', partitions: 2 }), 1);
    await app.get(RedPacketService).create({ activityId: 'new-year', totalCents: 100, packets: 2 });
  });
  afterEach(async () => {
    await app.close();
    client.disconnect();
  });

  it('shows what is in Redis to the browser that opens the link, and changes nothing', async () => {
    const held = await app.get(LockService).acquire('report');
    const { status, printed } = await withConsole([...address(), '--prefix', prefix], async ({ link, get, post }) => {
      expect((await fetch(link, { redirect: 'manual' })).status).toBe(403);
      expect((await fetch(`${link.slice(0, link.indexOf('?'))}api/me`)).status).toBe(401);
      const { body: me } = await get('api/me');
      expect(me).toMatchObject({ role: 'read', readOnly: true, csrf: '' });
      expect((me['sections'] as { name: string }[]).map(({ name }) => name)).toEqual(
        ['overview', 'queues', 'streams', 'once', 'locks', 'jobs', 'limits', 'red-packets'], // prettier-ignore
      );
      const { body: queues } = await get('api/list?address=queues/queues');
      expect((queues['rows'] as { address: string[] }[]).map(({ address }) => address[2])).toEqual(['default', 'mail']);
      for (const [id, kind] of [
        ['task-1', 'task'],
        ['task-2', 'task'],
        ['report', 'lock'],
        ['orders', 'stream'],
        ['new-year', 'activity'],
      ] as const) {
        const { body: found } = await get(`api/find?id=${id}`);
        expect(found).toMatchObject({
          matches: expect.arrayContaining([expect.objectContaining({ kind })]),
          failed: [],
        });
      }
      const action = {
        section: 'queues',
        action: 'cancel',
        target: { address: ['queues', 'tasks', 'mail', 'task-2'] },
      };
      expect((await post('act', action)).status).toBe(403);
    });
    expect(printed).toContain('read-only: 2 queues, 1 streams.');
    expect(status).toBe(0);
    expect(await app.get(DelayedTaskService).queue('mail').get('task-2')).toMatchObject({ state: 'waiting' });
    await held.release();
  });

  it('runs actions with --act, and logs who ran them', async () => {
    await withConsole([...address(), '--prefix', prefix, '--act', '--payloads'], async ({ get, post }) => {
      const target = { address: ['queues', 'tasks', 'default', 'task-1'] };
      const { body: story } = await get('api/show?address=queues/tasks/default/task-1');
      expect(story.facts).toContainEqual({ name: 'payload', value: { payload: { to: 'ann' } } });
      const { body: preview } = await post('preview', { section: 'queues', action: 'cancel', target });
      expect(preview).toMatchObject({ count: 1 });
      const act = { section: 'queues', action: 'cancel', target, expected: preview.expected };
      expect(await post('act', act)).toEqual({ status: 200, body: { count: 1 } });
      const { body: log } = await get('api/log');
      expect(log.items).toMatchObject([{ action: 'cancel', result: 'done', actor: expect.any(String) as string }]);
    });
    expect(await app.get(DelayedTaskService).get('task-1')).toBeUndefined();
  });
});

it('leaves an empty Redis empty, without --act', async () => {
  const prefix = uniquePrefix();
  const { status, printed } = await withConsole(['--redis', redis.url, '--prefix', prefix], async ({ get }) => {
    expect((await get('api/overview')).status).toBe(200);
  });
  expect(printed).toContain('read-only: 0 queues, 0 streams.');
  expect(status).toBe(0);
  const client = new Redis(redis.url);
  expect(await client.keys(`${prefix}*`)).toEqual([]);
  client.disconnect();
});

it('refuses an invalid port, and says that nobody listens, without a stack', async () => {
  const wrong = await luanest(['console', '--redis', redis.url, '--port', '70000']);
  expect([wrong.status, wrong.complained]).toEqual([
    2,
    expect.stringContaining('--port is 70000. Expected an integer'),
  ]);
  const { status, complained } = await luanest(['console', '--redis', 'redis://127.0.0.1:1']);
  expect(status).toBe(1);
  expect(complained).toBe('luanest console: 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1');
});

it('says what to install where NestJS is missing', async () => {
  jest.resetModules();
  jest.doMock('../src/redis/installed-client', () => ({
    ...jest.requireActual<object>('../src/redis/installed-client'),
    loadInstalled: () => undefined,
  }));
  const { console: command } = jest.requireActual<typeof import('../src/console/console')>('../src/console/console');
  const terminal = { folder: __dirname, environment: {} } as Parameters<typeof command.run>[1];
  const run = command.run({ values: { redis: redis.url }, positionals: [] }, terminal);
  await expect(run).rejects.toThrow('-p @nestjs/core -p @nestjs/platform-express');
});
