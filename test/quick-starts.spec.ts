import { join } from 'node:path';
import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { metrics } from '@opentelemetry/api';
import type { MeterProvider } from '@opentelemetry/sdk-metrics';
import { Redis } from 'ioredis';
import { DelayedTaskService } from 'luanest/delayed-task';
import { ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistry, ScriptRegistryModule, type ScriptDefinition } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { Pool } from 'pg';
import { PostgresServer } from './app/support/postgres-server';
import { blocksOf } from './support/markdown';
import { follow, request, written } from './support/reader';
import { ROOT, runSnippet, snippetsOf } from './support/snippets';
import { eventually } from './support/wait';

const GETTING_STARTED = 'docs/getting-started.md';

let redis: RedisServer;
let admin: Redis;
/** Lines that the snippets have printed. */
const printed: string[] = [];
const apps: INestApplication[] = [];

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.port, redis.host);
});
beforeEach(() => {
  jest.spyOn(console, 'log').mockImplementation((line) => void printed.push(String(line)));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await admin.flushall();
  printed.length = 0;
});
afterAll(async () => {
  admin.disconnect();
  await redis.stop();
});

/** Replaces the servers of the document by those of the test, and makes cron jobs due while a test waits. */
const adapt = (code: string): string =>
  code
    .replaceAll(/@Cron\('[^']+'/g, "@Cron('* * * * * *'")
    .replaceAll('redis://127.0.0.1:6379', `redis://127.0.0.1:${redis.port}`)
    .replaceAll("host: '127.0.0.1', port: 6379", `host: '127.0.0.1', port: ${redis.port}`);

const load = (name: string): unknown => jest.requireActual(name);

/** Exports of a snippet: the first one of a document unless it is named. */
function snippet<T extends object>(file: string, path = `${file}.1.ts`): T {
  return runSnippet<T>(snippetsOf(file), join(ROOT, path), adapt, load);
}

type Names = Record<string, Type>;

async function open(module: Type | undefined): Promise<INestApplication> {
  if (!module) throw new Error('The snippet exports no such module.');
  const app = (await Test.createTestingModule({ imports: [module] }).compile()).createNestApplication({
    logger: false,
  });
  apps.push(app);
  await app.listen(0, '127.0.0.1');
  return app;
}

/** The app of a lib's quick start, or of another snippet of its guide. */
function quickStart(lib: string, number = 1): Promise<INestApplication> {
  const guide = `libs/${lib}/README.md`;
  return open(snippet<Names>(guide, `${guide}.${number}.ts`).AppModule);
}

/**
 * More than a limit of five a second lets pass, also where a second ends in between; asked again where Redis stood still,
 * since the app counts by itself then.
 */
async function expectLimited(app: INestApplication, path = '/cats'): Promise<void> {
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => request(app, 'GET', path)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toEqual(new Set([200, 429]));
  });
}

/** Waits until the app has printed what the document says, line by line: the first of its blocks that is text. */
async function expectPrinted(file: string, block = 0): Promise<void> {
  const wanted = blocksOf(file, 'text')[block]?.trimEnd().split('\n') ?? [];
  expect(wanted).not.toEqual([]);
  await eventually(() => expect(printed).toEqual(wanted.map((line) => expect.stringMatching(written(line)) as string)));
}

it('README: two processes share one limit', async () => {
  const onAnyPort = (code: string): string =>
    adapt(code)
      .replace('process.env.PORT ?? 3000', "0, '127.0.0.1'")
      .replace('void NestFactory.create(AppModule)', 'exports.app = NestFactory.create(AppModule, { logger: false })')
      .replace(/\.then\(\(app\) => (.+)\);/, '.then((app) => $1.then(() => app));');
  const start = async (): Promise<INestApplication> => {
    const main = runSnippet<{ app: Promise<INestApplication> }>(
      snippetsOf('README.md'),
      join(ROOT, 'main.ts'),
      onAnyPort,
      load,
    );
    apps.push(await main.app);
    return main.app;
  };
  const both = [await start(), await start()];
  await follow(both[0] as INestApplication, 'README.md');
  // A window may end within the requests, which two of them do not.
  await eventually(async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) {
      statuses.push((await request(both[i % 2] as INestApplication, 'GET', '/cats')).status);
    }
    expect(statuses.slice(-2)).toEqual([429, 429]);
  });
});

it('four uses: a rate limit, an idempotent route, a delayed task and a cron job', async () => {
  const app = await open(snippet<Names>('docs/four-uses.md', 'docs/four-uses/app.module.ts').AppModule);
  const answers = await follow(app, 'docs/four-uses.md');
  const { orderId } = answers[0]?.body as { orderId: string };
  expect(answers[1]?.body).toEqual({ orderId });
  await expectLimited(app, '/orders');

  const tasks = app.get(DelayedTaskService);
  expect(await tasks.stats()).toMatchObject({ waiting: 1 });
  await tasks.reschedule(`expire-${orderId}`, { delayMs: 0 });
  await eventually(() => expect(printed).toContain(`Order ${orderId} expired`));
  await eventually(async () => {
    const [last] = await app.get(ScheduledLockService).history('report');
    expect(last).toMatchObject({ status: 'ran' });
    expect(printed).toContain(`Report by process ${process.pid}`);
  });
});

it('getting started: from an empty folder', async () => {
  const app = await open(snippet<Names>(GETTING_STARTED, 'docs/getting-started/app.module.ts').AppModule);
  await follow(app, GETTING_STARTED);
  await expectLimited(app);
});

it('getting started: the address of Redis comes from the environment', async () => {
  process.env.REDIS_URL = redis.url;
  try {
    const app = await open(snippet<Names>(GETTING_STARTED, `${GETTING_STARTED}.3.ts`).AppModule);
    expect(await app.get(ScriptRegistry).health()).toEqual({ healthy: true, problems: [] });
  } finally {
    delete process.env.REDIS_URL;
  }
});

it('getting started: a script of your own', async () => {
  const { AppModule, Points = Object } = snippet<Names>(GETTING_STARTED, `${GETTING_STARTED}.4.ts`);
  const app = await open(AppModule);
  const points = app.get<{ add(userId: string, amount: number): Promise<unknown> }>(Points);
  expect(await points.add('ann', 80)).toEqual({ has: 80, added: 80 });
  expect(await points.add('ann', 80)).toEqual({ has: 100, added: 20 });
});

it('getting started: a first test, without a Redis', async () => {
  const tests: (() => Promise<void>)[] = [];
  const nodeTest = { test: (_name: string, run: () => Promise<void>) => void tests.push(run) };
  const quiet = (code: string): string =>
    adapt(code).replace('createNestApplication()', 'createNestApplication({ logger: false })');
  const loadTest = (name: string): unknown => (name === 'node:test' ? nodeTest : load(name));
  runSnippet(snippetsOf(GETTING_STARTED), join(ROOT, 'docs/getting-started/app.test.ts'), quiet, loadTest);
  expect(tests).toHaveLength(1);
  await tests[0]?.();
});

it('production: a health route', async () => {
  const app = await open(snippet<Names>('docs/production.md').AppModule);
  const healthy = { status: 'ok', info: { redis: { status: 'up' } } };
  expect(await request(app, 'GET', '/health')).toMatchObject({ status: 200, body: healthy });
});

it('script-registry', async () => {
  await follow(await quickStart('script-registry'), 'libs/script-registry/README.md');
});

it('rate-limit', async () => {
  const app = await quickStart('rate-limit');
  await follow(app, 'libs/rate-limit/README.md');
  await expectLimited(app);
});

it('once', async () => {
  const { AppModule, Pusher = Object } = snippet<Names>('libs/once/README.md');
  const app = await open(AppModule);
  await follow(app, 'libs/once/README.md');
  await expectPrinted('libs/once/README.md');
  const pusher = app.get<{ byHand(message: object): Promise<void> }>(Pusher);
  for (let i = 0; i < 2; i++) await pusher.byHand({ id: 'm2', text: 'Bye' });
  expect(printed.slice(1)).toEqual(['Pushed Bye, known by m2']);
});

it('read-reward', async () => {
  await follow(await quickStart('read-reward'), 'libs/read-reward/README.md');
});

it('lock', async () => {
  await quickStart('lock');
  await expectPrinted('libs/lock/README.md');
});

it('scheduled-lock', async () => {
  const apps = [await quickStart('scheduled-lock'), await quickStart('scheduled-lock')];
  await eventually(() => expect(printed.length).toBeGreaterThan(2));
  const [line = ''] = blocksOf('libs/scheduled-lock/README.md', 'text');
  for (const report of printed) expect(report).toMatch(written(line.trim()));
  expect(new Set(printed).size).toBe(printed.length);
  const [last] = await (apps[0] as INestApplication).get(ScheduledLockService).history('report');
  expect(last).toMatchObject({ status: 'ran' });
});

it('delayed-task', async () => {
  const app = await quickStart('delayed-task');
  await follow(app, 'libs/delayed-task/README.md');
  const tasks = app.get(DelayedTaskService);
  expect(await tasks.stats()).toMatchObject({ waiting: 1, overdue: 0 });
  await tasks.reschedule('expire-1', { delayMs: 0 });
  await expectPrinted('libs/delayed-task/README.md');
});

it('stream-consumer', async () => {
  await follow(await quickStart('stream-consumer'), 'libs/stream-consumer/README.md');
  await expectPrinted('libs/stream-consumer/README.md');
});

it('red-packet', async () => {
  const app = await quickStart('red-packet');
  await follow(app, 'libs/red-packet/README.md');
  const headers = { 'x-user': 'ann', 'content-type': 'application/json' };
  const body = JSON.stringify({ activityId: 'mine', total: '1.00', packets: 1 });
  expect(await request(app, 'POST', '/red-packets', { headers, body })).toMatchObject({ status: 403 });
});

it('red-packet: paying out, and giving back', async () => {
  await follow(await quickStart('red-packet', 3), 'libs/red-packet/README.md', 1);
  await expectPrinted('libs/red-packet/README.md');
});

it('console', async () => {
  process.env['CONSOLE_PASSWORD'] = 'secret';
  const app = await quickStart('console');
  await follow(app, 'libs/console/README.md');
  expect(await request(app, 'GET', '/console/api/me')).toMatchObject({ status: 401 });
});

it('metrics', async () => {
  const shown: unknown[] = [];
  jest.spyOn(console, 'dir').mockImplementation((what) => void shown.push(what));
  await quickStart('metrics');
  await eventually(() => expect(printed).toEqual(['Hello Ann']));
  const [said = ''] = blocksOf('libs/metrics/README.md', 'text');
  const wanted = [...said.matchAll(/name: '([^']+)'/g)].map(([, name = '']) => name);
  expect(wanted).toHaveLength(2);
  const provider = metrics.getMeterProvider() as MeterProvider;
  // An attempt is measured after its end is stored in Redis, which is after it has printed.
  await eventually(async () => {
    await provider.forceFlush();
    const names = shown.map((metric) => (metric as { descriptor?: { name: string } }).descriptor?.name);
    expect(names).toEqual(expect.arrayContaining(wanted));
  });
  await provider.shutdown();
  metrics.disable();
});

describe('scripts of the documents', () => {
  let registry: ScriptRegistry;
  beforeEach(async () => {
    class App {}
    const app = (
      await Test.createTestingModule({
        imports: [{ module: App, imports: [ScriptRegistryModule.forRoot({ url: redis.url })] }],
      }).compile()
    ).createNestApplication({ logger: false });
    apps.push(app);
    await app.init();
    registry = app.get(ScriptRegistry);
  });

  it('reserve seats, all or none, and once', async () => {
    const { reserveSeats } = snippet<{ reserveSeats: ScriptDefinition }>('docs/own-scripts.md');
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
    const { bid } = snippet<{ bid: ScriptDefinition }>('docs/own-scripts.md', 'docs/own-scripts.md.4.ts');
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

it('outbox', async () => {
  const postgres = await PostgresServer.start();
  try {
    const warn = jest.spyOn(console, 'warn').mockImplementation();
    const pools: Pool[] = [];
    class Ended extends Pool {
      constructor(options: object) {
        super({ ...options, connectionString: postgres.url });
        pools.push(this);
      }
    }
    const guide = 'libs/outbox/README.md';
    const loadPg = (name: string): unknown => (name === 'pg' ? { Pool: Ended } : load(name));
    const { AppModule } = runSnippet<Names>(snippetsOf(guide), join(ROOT, `${guide}.1.ts`), adapt, loadPg);
    const app = await open(AppModule);
    expect(await request(app, 'POST', '/orders/1')).toMatchObject({ status: 201, body: 'placed' });
    expect(await request(app, 'POST', '/orders/1')).toMatchObject({ status: 500 });
    await expectPrinted(guide);
    // The lock of a round is such a connection: in use, and without a statement.
    const client = await (pools[0] as Pool).connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    await (pools[0] as Pool).query('SELECT pg_terminate_backend($1)', [
      (client as unknown as { processID: number }).processID,
    ]);
    await ended;
    client.release(true);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('terminat'));
    await app.close();
    for (const pool of pools) await pool.end();
  } finally {
    await postgres.stop();
  }
});

it('transport', async () => {
  const guide = 'libs/transport/README.md';
  const onAnyPort = (code: string): string => adapt(code).replace('listen(3000)', "listen(0, '127.0.0.1')");
  const main = join(ROOT, 'libs/transport/main.ts');
  const { started } = runSnippet<{ started: Promise<INestApplication> }>(snippetsOf(guide), main, onAnyPort, load);
  const app = await started;
  apps.push(app);
  expect(await request(app, 'POST', '/orders/o1')).toMatchObject({ status: 201, body: { price: 20 } });
  await expectPrinted(guide);
});
