import { Injectable, Logger } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type StreamConsumerModuleOptions,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { startRedis } from 'luanest/testing/servers';
import { ClosingApps } from '../../../test/support/closing-apps';
import type { CommandWatcher } from '../../../test/support/command-watcher';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { group, openBench, QUICK, quiet } from './support';

let apps: ClosingApps;
let watcher: CommandWatcher;

beforeAll(async () => {
  apps = await ClosingApps.open();
  ({ watcher } = apps);
});
beforeEach(() => watcher.clear());
afterAll(() => apps.close());

@Injectable()
class Jobs {
  readonly gate = new Gate();
  readonly begun: unknown[] = [];
  readonly ended: unknown[] = [];
  aborted = 0;

  constructor(private readonly streams: StreamConsumerService) {}

  @StreamConsumer({ stream: 'jobs', group: 'g', concurrency: 3 })
  async handle({ payload, signal }: StreamMessage): Promise<void> {
    this.begun.push(payload);
    signal.addEventListener('abort', () => (this.aborted += 1));
    await this.gate.pass();
    await this.streams.publish('follow-up', payload);
    this.ended.push(payload);
  }
}

const start = (prefix: string, options: StreamConsumerModuleOptions): Promise<TestingModule> =>
  apps.start(prefix, {
    imports: [StreamConsumerModule.forRoot({ ...QUICK, ...options })],
    providers: [Jobs],
  });

const count = 8;

async function busy(options: StreamConsumerModuleOptions): Promise<{ app: TestingModule; jobs: Jobs; prefix: string }> {
  const prefix = uniquePrefix();
  const app = await start(prefix, options);
  const messages = Array.from({ length: count }, (_, payload) => ({ payload }));
  await app.get(StreamConsumerService).publishMany('jobs', messages);
  const jobs = app.get(Jobs);
  await eventually(() => expect(jobs.begun).toHaveLength(3));
  return { app, jobs, prefix };
}

/** Reads the group as another consumer sees it, and checks that the app sends nothing more to Redis. */
async function afterClose(prefix: string): Promise<{ stats: object; followUps: number }> {
  const bench = await openBench(quiet(new Redis(apps.server.port)), {}, { prefix });
  const stats = await bench.streams.stats('jobs', 'g');
  const followUps = (await bench.streams.stats('follow-up', 'nobody')).length;
  await bench.close();
  return { stats, followUps };
}

it('SIGTERM takes nothing new, finishes what runs, which may still publish, and is silent after close', async () => {
  const { app, jobs, prefix } = await busy({ drainMs: 20_000 });
  const closing = app.close();
  await sleep(100);
  expect(jobs.begun).toHaveLength(3);
  jobs.gate.open();
  await closing;
  // The watcher hears of the last ones a little later.
  await eventually(() => expect(watcher.commands.map(({ args }) => args.join(' '))).toContain('quit'));
  const closedAt = watcher.commands.length;
  await sleep(700);
  expect(watcher.commands.slice(closedAt)).toEqual([]);
  expect(jobs.ended).toHaveLength(3);
  expect([jobs.begun.length, jobs.aborted]).toEqual([3, 0]);
  const { stats, followUps } = await afterClose(prefix);
  expect(stats).toMatchObject({ length: count - 3, pending: 0, due: 0, sessions: 0 });
  expect(followUps).toBe(3);
});

it('SIGTERM hands back what does not end, at once and without counting an attempt; what that says later changes nothing', async () => {
  const { app, jobs, prefix } = await busy({ drainMs: 50, abortGraceMs: 50, leaseMs: 60_000 });
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(jobs.aborted).toBe(3);
  const closedAt = watcher.commands.length;
  const { stats } = await afterClose(prefix);
  expect(stats).toMatchObject({ length: count, pending: 3, due: 3, sessions: 0 });
  const other = await openBench(quiet(new Redis(apps.server.port)), {}, { prefix });
  const seen: string[] = [];
  await other.streams.handle(
    { stream: 'jobs', group: 'g' },
    ({ payload, attempt }) => void seen.push(`${String(payload)} ${attempt}`),
  );
  await eventually(() => expect(seen).toHaveLength(count));
  expect(seen.every((text) => text.endsWith(' 1'))).toBe(true);
  await other.close();
  expect(watcher.commands.length).toBeGreaterThan(closedAt);
  jobs.gate.open();
  await sleep(50);
  expect(apps.unhandled).toEqual([]);
});

it('an app closes within drainMs and abortGraceMs while Redis is unavailable', async () => {
  const own = await startRedis();
  const bench = await openBench(quiet(new Redis(own.port, { retryStrategy: () => 50 })), {
    drainMs: 300,
    abortGraceMs: 50,
  });
  const gate = new Gate();
  await bench.streams.handle({ stream: 's', group: 'g' }, () => gate.pass());
  await bench.streams.publish('s', 1);
  await eventually(() => expect(gate.entered).toBe(1));
  await own.kill();
  const startedAt = performance.now();
  await bench.close();
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  gate.open();
  await own.stop();
});

it('messages that were handled when drainMs ended are not handled again, however many there are', async () => {
  const bench = await openBench(quiet(new Redis(apps.server.port)), { drainMs: 0, abortGraceMs: 0 });
  const gate = new Gate();
  const messages = Array.from({ length: 1_000 }, (_, payload) => ({ payload }));
  const all = { ...group('many', 'g'), concurrency: messages.length };
  const handle = await bench.streams.handle(all, () => gate.pass());
  await bench.streams.publishMany('many', messages);
  await eventually(() => expect(gate.entered).toBe(messages.length));
  const stopped = handle.stop();
  gate.open();
  await stopped;
  expect(await bench.streams.stats('many', 'g')).toMatchObject({ length: 0, pending: 0, due: 0, sessions: 0 });
  await bench.close();
});

it('a stop waits for the handlers of messages that were lost', async () => {
  const bench = await openBench(quiet(new Redis(apps.server.port)), { drainMs: 60_000 });
  const gate = new Gate();
  const lost = new Gate();
  const options = { ...group('lost', 'g'), leaseMs: 300 };
  const handle = await bench.streams.handle(options, ({ signal }) => {
    signal.addEventListener('abort', () => void lost.pass());
    return gate.pass();
  });
  await bench.streams.publish('lost', 1);
  await eventually(() => expect(gate.entered).toBe(1));
  await bench.raw.del(bench.keys('lost', 'g').sessions);
  await eventually(() => expect(lost.entered).toBe(1));
  let stopped = false;
  const stopping = handle.stop().then(() => (stopped = true));
  await sleep(200);
  expect([stopped, handle.running]).toEqual([false, 1]);
  gate.open();
  await stopping;
  expect(handle.running).toBe(0);
  await bench.close();
});

it('a consumer that only looks for messages runs no handler', async () => {
  const bench = await openBench(quiet(new Redis(apps.server.port)), {});
  const handle = await bench.streams.handle(group('idle', 'g'), () => undefined);
  for (let i = 0; i < 100; i++) {
    expect(handle.running).toBe(0);
    await new Promise((resolve) => void setImmediate(resolve));
  }
  await bench.close();
});

it('a consumer that was stopped takes nothing, and another one can be started', async () => {
  const bench = await openBench(quiet(new Redis(apps.server.port)), {});
  const seen: unknown[] = [];
  const first = await bench.streams.handle({ stream: 's', group: 'g' }, ({ payload }) => void seen.push(payload));
  await bench.streams.publish('s', 1);
  await eventually(() => expect(seen).toEqual([1]));
  await Promise.all([first.stop(), first.stop()]);
  await bench.streams.publish('s', 2);
  await sleep(200);
  expect(seen).toEqual([1]);
  await bench.streams.handle({ stream: 's', group: 'g', leaseMs: 9_000 }, ({ payload }) => void seen.push(payload));
  await eventually(() => expect(seen).toEqual([1, 2]));
  await bench.close();
  await expect(bench.streams.handle({ stream: 's', group: 'g' }, () => undefined)).rejects.toMatchObject({
    code: 'CLOSED',
  });
});

it('logs no warning if the start of the consumers fails after the close', async () => {
  const server = await startRedis();
  const bench = await openBench(quiet(new Redis(server.port)), { drainMs: 0, abortGraceMs: 0 }, { deadlineMs: 200 });
  const warn = jest.spyOn(Logger.prototype, 'warn');
  try {
    server.pause();
    bench.streams['consumers'].declare(group('late', 'g'), 'a test', () => undefined);
    const starting = bench.streams.onApplicationBootstrap();
    await bench.streams.beforeApplicationShutdown();
    await starting;
    expect(warn.mock.calls.map(([line]) => String(line))).not.toContainEqual(
      expect.stringContaining('failed when their consumers were started'),
    );
  } finally {
    warn.mockRestore();
    server.resume();
    await bench.close();
    await server.stop();
  }
});
