import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { metrics } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import { DelayedTaskService } from 'luanest/delayed-task';
import { ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistry, ScriptRegistryModule, type AnyScript } from 'luanest/script-registry';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { blocksOf } from './support/markdown';
import { RedisServer } from './support/redis-server';
import { ROOT, runSnippet, snippetsOf } from './support/snippets';
import { eventually } from './support/wait';

let redis: RedisServer;
let admin: Redis;
let web: Server;
/** What the snippets have asked of the web. */
const asked: string[] = [];
const apps: INestApplication[] = [];
const clients: Redis[] = [];

beforeAll(async () => {
  redis = await RedisServer.start();
  admin = new Redis(redis.port, redis.host);
  web = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${body}`.trim());
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  for (const client of clients.splice(0)) client.disconnect();
  await admin.flushall();
  asked.length = 0;
});
afterAll(async () => {
  admin.disconnect();
  web.close();
  await redis.stop();
});

/** A reader's own servers in the place of those of the document, and jobs that are due while a test waits. */
const adapt = (code: string): string =>
  code
    .replaceAll(/@Cron\('[^']+'/g, "@Cron('* * * * * *'")
    .replaceAll('redis://127.0.0.1:6379', `redis://127.0.0.1:${redis.port}`)
    .replaceAll("host: '127.0.0.1', port: 6379", `host: '127.0.0.1', port: ${redis.port}`)
    .replaceAll('new Redis()', `new Redis(${redis.port}, '127.0.0.1')`)
    .replaceAll('http://127.0.0.1/', `http://127.0.0.1:${(web.address() as AddressInfo).port}/`);

/** A package, and of ioredis clients that end with the test: a reader's live as long as his process. */
function load(name: string): unknown {
  const actual = jest.requireActual<object>(name);
  if (name !== 'ioredis') return actual;
  class Client extends Redis {
    constructor(...args: ConstructorParameters<typeof Redis>) {
      super(...args);
      clients.push(this);
    }
  }
  return { ...actual, Redis: Client };
}

/** What a snippet exports; the first of a document unless it is named. */
function snippet<T extends object>(file: string, path = `${file}.1.ts`): T {
  return runSnippet<T>(snippetsOf(file), join(ROOT, path), adapt, load);
}

type Names = Record<string, Type>;

/** The app of a lib's quick start, with `session` where a reader's login would put it. */
async function open(module: Type | undefined, session: Record<string, unknown> = {}): Promise<INestApplication> {
  if (!module) throw new Error('The snippet exports no such module.');
  const app = (await Test.createTestingModule({ imports: [module] }).compile()).createNestApplication({
    logger: false,
  });
  app.use((request: object, _response: unknown, next: () => void) => {
    Object.assign(request, session);
    next();
  });
  apps.push(app);
  await app.listen(0, '127.0.0.1');
  return app;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function request(app: INestApplication, method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...init });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

/** More than a limit of five a second lets pass, also where a second ends in between. */
async function expectLimited(app: INestApplication): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 12 }, () => request(app, 'GET', '/cats')));
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([200, 429]));
}

/** Makes the request of a `curl` line. */
function curl(app: INestApplication, line: string): Promise<Answer> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const after = (flag: string): string[] => words.filter((_, i) => words[i - 1] === flag);
  const [body] = after('-d');
  const [method = body === undefined ? 'GET' : 'POST'] = after('-X');
  const headers = Object.fromEntries(after('-H').map((header) => header.split(': ') as [string, string]));
  const [path = ''] = words.filter((word) => word.startsWith('localhost:3000'));
  return request(app, method, path.replace('localhost:3000', ''), { headers, ...(body !== undefined && { body }) });
}

it('README: a guard, a capped reward, a job and red packets, with the commands beside them', async () => {
  const written: string[] = [];
  const stdout = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const { AppModule } = snippet<Names>('README.md', 'app.module.ts');
  const app = await open(AppModule);
  await eventually(async () => {
    const [last] = await app.get(ScheduledLockService).history('report');
    expect(last).toMatchObject({ outcome: 'ran' });
  });
  stdout.mockRestore();
  expect(written.filter((line) => line === `Built by process ${process.pid}\n`).length).toBeGreaterThan(0);

  const [lines = ''] = blocksOf('README.md', 'sh').filter((block) => block.startsWith('curl'));
  const answers = [];
  for (const line of lines.trim().split('\n')) answers.push(await curl(app, line));
  expect(answers).toMatchObject([
    { status: 201, body: { activityId: 'new-year', packets: 10, totalCents: 10_000 } },
    { status: 200, body: { outcome: 'won' } },
    { status: 201, body: { status: 'rewarded', points: 2, remaining: 4 } },
    { status: 200, body: 'Tom' },
  ]);
  await expectLimited(app);
  for (let i = 2; i <= 5; i++) await request(app, 'POST', `/articles/${i}/read`, { headers: { 'x-user': 'ann' } });
  const sixth = await request(app, 'POST', '/articles/6/read', { headers: { 'x-user': 'ann' } });
  expect(sixth.body).toMatchObject({ status: 'capped', points: 0 });
});

it('README: a script of your own', async () => {
  const path = [...snippetsOf('README.md').keys()].find((name) => /README\.md\.\d+\.ts$/.test(name)) ?? '';
  const { AppModule, Points = Object } = runSnippet<Names>(snippetsOf('README.md'), path, adapt, load);
  const app = await open(AppModule);
  const points = app.get<{ add(userId: string, amount: number): Promise<unknown> }>(Points);
  expect(await points.add('ann', 80)).toEqual({ has: 80, added: 80 });
  expect(await points.add('ann', 80)).toEqual({ has: 100, added: 20 });
});

it('script-registry', async () => {
  const { LimitsModule = Object } = snippet<Names>('libs/script-registry/README.md');
  const app = await open(LimitsModule);
  const limits = app.get<{ allowed(userId: string): Promise<boolean> }>(LimitsModule);
  const answers = [];
  for (let i = 0; i < 5; i++) answers.push(await limits.allowed('ann'));
  expect(answers).toEqual([true, true, true, true, true]);
  await eventually(async () => expect(await limits.allowed('ann')).toBe(false), { everyMs: 0 });
});

it('rate-limit', async () => {
  const app = await open(snippet<Names>('libs/rate-limit/README.md').AppModule);
  await expectLimited(app);
});

it('once', async () => {
  const { AppModule, Pusher = Object } = snippet<Names>('libs/once/README.md');
  const app = await open(AppModule, { user: { id: 'ann' } });
  const pusher = app.get<{ onMessage(message: object): Promise<void>; byHand(message: object): Promise<void> }>(Pusher);
  const push = jest.spyOn(pusher as never, 'push' as never);
  for (let i = 0; i < 2; i++) {
    await pusher.onMessage({ id: 'm1', text: 'Hello' });
    await pusher.byHand({ id: 'm2', text: 'Hello' });
  }
  expect(push).toHaveBeenCalledTimes(2);
  const headers = { 'idempotency-key': 'k' };
  expect(await request(app, 'POST', '/orders', { headers })).toMatchObject({ status: 201, body: { orderId: '1' } });
  expect(await request(app, 'POST', '/orders', { headers })).toMatchObject({ status: 201, body: { orderId: '1' } });
});

it('read-reward', async () => {
  const { ReadsModule, ArticleReads = Object } = snippet<Names>('libs/read-reward/README.md');
  const app = await open(ReadsModule);
  const reads = app.get<{ read(userId: string, articleId: string): Promise<string> }>(ArticleReads);
  expect([await reads.read('ann', 'a'), await reads.read('ann', 'a')]).toEqual(['+2, 4 to go', 'duplicate']);
});

it('lock', async () => {
  const { AppModule, Reports = Object } = snippet<Names>('libs/lock/README.md');
  const app = await open(AppModule);
  const reports = app.get<{ build(day: string): Promise<string> }>(Reports);
  const both = await Promise.all([reports.build('monday'), reports.build('monday')]);
  expect(both).toEqual([
    expect.stringMatching(/^built under fence \d+$/),
    expect.stringMatching(/^built under fence \d+$/),
  ]);
  expect(new Set(both).size).toBe(2);
  expect(asked).toEqual(['GET /figures', 'GET /figures']);
});

it('scheduled-lock', async () => {
  const app = await open(snippet<Names>('libs/scheduled-lock/README.md').AppModule);
  await eventually(async () => {
    const [last] = await app.get(ScheduledLockService).history('daily-report');
    expect(last).toMatchObject({ outcome: 'ran' });
  });
  expect(asked[0]).toBe('POST /report');
});

it('delayed-task', async () => {
  const { AppModule, Orders = Object } = snippet<Names>('libs/delayed-task/README.md');
  const app = await open(AppModule);
  const orders = app.get<{ placed(id: string): Promise<void>; paid(id: string): Promise<void> }>(Orders);
  const tasks = app.get(DelayedTaskService);
  await Promise.all(['1', '2'].map((id) => orders.placed(id)));
  await orders.paid('2');
  expect(await tasks.stats()).toMatchObject({ waiting: 1, overdue: 0 });
  await tasks.reschedule('expire-1', { delayMs: 0 });
  await eventually(() => expect(asked).toEqual(['POST /orders/1/expire']));
});

it('stream-consumer', async () => {
  const { AppModule, Mails = Object } = snippet<Names>('libs/stream-consumer/README.md');
  const app = await open(AppModule);
  const mails = app.get<{ ordered(order: object): Promise<void> }>(Mails);
  await mails.ordered({ id: '1', email: 'ann@example.org' });
  await mails.ordered({ id: '1', email: 'ann@example.org' });
  await mails.ordered({ id: '2', email: 'nowhere' });
  await eventually(async () => {
    expect(asked).toEqual(['POST /mails ann@example.org']);
    expect(await app.get(StreamConsumerService).stats('orders', 'mails')).toMatchObject({ pending: 0, dead: 1 });
  });
});

it('red-packet', async () => {
  const { AppModule } = snippet<Names>('libs/red-packet/README.md');
  const app = await open(AppModule, { session: { userId: 'ann', admin: true } });
  const body = JSON.stringify({ activityId: 'a', total: '1.00', packets: 2 });
  const headers = { 'content-type': 'application/json' };
  expect((await request(app, 'POST', '/red-packets', { headers, body })).status).toBe(201);
  expect((await request(app, 'POST', '/red-packets/a/grab')).body).toMatchObject({ outcome: 'won' });
  expect((await request(app, 'POST', '/red-packets/a/grab')).body).toMatchObject({ outcome: 'already-won' });
  expect((await request(app, 'GET', '/red-packets/a/audit?deep=true')).body).toMatchObject({ ok: true });
});

it('metrics', async () => {
  const shown: unknown[] = [];
  const dir = jest.spyOn(console, 'dir').mockImplementation((what) => void shown.push(what));
  const app = await open(snippet<Names>('libs/metrics/README.md').AppModule);
  await app.get(DelayedTaskService).schedule('order.expire');
  await (metrics.getMeterProvider() as unknown as { shutdown(): Promise<void> }).shutdown();
  metrics.disable();
  dir.mockRestore();
  const names = shown.map((metric) => (metric as { descriptor?: { name: string } }).descriptor?.name);
  expect(names).toEqual(expect.arrayContaining(['luanest.script.calls', 'luanest.delayed_task.tasks']));
});

describe('scripts of the documents', () => {
  let registry: ScriptRegistry;
  beforeEach(async () => {
    class App {}
    const client = new Redis(redis.port, redis.host);
    clients.push(client);
    const app = (
      await Test.createTestingModule({
        imports: [{ module: App, imports: [ScriptRegistryModule.forRoot({ client })] }],
      }).compile()
    ).createNestApplication({ logger: false });
    apps.push(app);
    await app.init();
    registry = app.get(ScriptRegistry);
  });

  it('reserve seats, all or none, and once', async () => {
    const { reserveSeats } = snippet<{ reserveSeats: AnyScript }>('docs/own-scripts.md');
    registry.register([reserveSeats]);
    const show = registry.keySpace('shows').tag('s1');
    const reserve = (orderId: string, seats: readonly string[]): Promise<unknown> =>
      registry.run(reserveSeats, {
        keys: { taken: show.key('taken'), order: show.key('order', orderId) },
        args: { orderId, retentionMs: 60_000, seats },
      });
    expect(await reserve('o1', ['A1', 'A2'])).toEqual({ reserved: true, taken: '' });
    expect(await reserve('o1', ['A1', 'A2'])).toEqual({ reserved: true, taken: '' });
    expect(await reserve('o2', ['A3', 'A2'])).toEqual({ reserved: false, taken: 'A2' });
    expect(await admin.hkeys(show.key('taken'))).toEqual(['A1', 'A2']);
  });

  it('bid, with the clock that a group shares', async () => {
    const { bid } = snippet<{ bid: AnyScript }>('docs/own-scripts.md', 'docs/own-scripts.md.3.ts');
    registry.register([bid]);
    const auction = registry.keySpace('auctions').tag('a1').key('auction');
    const at = (cents: number): Promise<unknown> =>
      registry.run(bid, { keys: { auction }, args: { cents, retentionMs: 60_000 } });
    expect(await Promise.all([at(100), at(50), at(200)])).toEqual([
      { leads: true, cents: 100 },
      { leads: false, cents: 100 },
      { leads: true, cents: 200 },
    ]);
  });
});
