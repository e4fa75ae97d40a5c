import 'reflect-metadata';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { performance } from 'node:perf_hooks';
import { Controller, Get, Injectable, type DynamicModule } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { DelayedTaskEvents, DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { ScheduledLock, ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import {
  StreamConsumerEvents,
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
} from 'luanest/stream-consumer';
import { size } from './support/size';
import { sharedRedisUrl, uniquePrefix } from './support/shared-servers';
import { eventually, sleep } from './support/wait';

const WORK = 300;
/** How long the work that runs at the start of a shutdown goes on, ms. */
const LONG_MS = 700;
const drain = { drainMs: 5_000, abortGraceMs: 100 };

/** Work of each kind. All of it needs locks. */
@Injectable()
class Work {
  begun = 0;
  refused: unknown[] = [];
  /** Set by `endless`: work that never ends and does not heed its signal. */
  endless = false;

  constructor(
    private readonly locks: LockService,
    private readonly once: OnceService,
  ) {}

  @DelayedTask('work')
  task(payload: { n: number }): Promise<void> {
    return this.do(`task-${payload.n}`);
  }

  @StreamConsumer({ stream: 'work', group: 'work' })
  async message(payload: { n: number }): Promise<void> {
    await this.once.run(`message-${payload.n}`, {}, () => this.do(`message-${payload.n}`));
  }

  @Interval(50)
  @ScheduledLock({ name: 'job', leaseMs: 5_000 })
  job(): Promise<void> {
    return this.do('job');
  }

  /** Takes locks one after the other, as work does that has not ended when the app begins to shut down. */
  async request(): Promise<string> {
    for (let i = 0; i < 5; i++) await this.locks.withLock(`request-${i}`, {}, () => sleep(LONG_MS / 5));
    await this.once.run('request', {}, () => sleep(10));
    return 'done';
  }

  private async do(name: string): Promise<void> {
    this.begun++;
    if (this.endless) return new Promise<never>(() => undefined);
    try {
      await sleep(5);
      await this.locks.withLock(name, {}, () => sleep(5));
      await this.locks.withLock(`${name} again`, {}, () => sleep(5));
    } catch (error) {
      this.refused.push(error);
      throw error;
    }
  }
}

@Controller()
class Requests {
  constructor(private readonly work: Work) {}

  @Get()
  get(): Promise<string> {
    return this.work.request();
  }
}

const modules: Record<string, () => DynamicModule> = {
  lock: () => LockModule.forRoot(drain),
  once: () => OnceModule.forRoot(drain),
  tasks: () => DelayedTaskModule.forRoot({ ...drain, concurrency: 10, backoff: { delayMs: 50 } }),
  streams: () => StreamConsumerModule.forRoot({ ...drain, concurrency: 10, backoff: { delayMs: 50 } }),
  jobs: () => ScheduledLockModule.forRoot({ ...drain, namespace: 'shutdown' }),
};

/** Every order of the names. */
function ordersOf(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) => ordersOf(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

/** Requests a page over a connection of its own. Fastify would wait for one that is kept open after a response. */
function responseOf(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => resolve(text(response))).on('error', reject);
  });
}

async function start(order: readonly string[], prefix = uniquePrefix()): Promise<NestFastifyApplication> {
  const testing = Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ url: sharedRedisUrl(), prefix }),
      ScheduleModule.forRoot(),
      ...order.map((name) => modules[name]!()),
    ],
    providers: [Work],
    controllers: [Requests],
  });
  const app = (await testing.compile()).createNestApplication<NestFastifyApplication>(new FastifyAdapter(), {
    logger: false,
  });
  await app.listen(0, '127.0.0.1');
  return app;
}

/** Attempts that failed, by the events of tasks and streams. */
const failed: unknown[] = [];
const onTask = (event: unknown): void => {
  if (['retried', 'dead'].includes((event as { status: string }).status)) failed.push(event);
};
const onMessage = (event: unknown): void => void failed.push(event);
beforeAll(() => {
  subscribe(DelayedTaskEvents.attemptSettled, onTask);
  subscribe(StreamConsumerEvents.messageRetried, onMessage);
  subscribe(StreamConsumerEvents.messageDeadLettered, onMessage);
});
beforeEach(() => void failed.splice(0));
afterAll(() => {
  unsubscribe(DelayedTaskEvents.attemptSettled, onTask);
  unsubscribe(StreamConsumerEvents.messageRetried, onMessage);
  unsubscribe(StreamConsumerEvents.messageDeadLettered, onMessage);
});

describe('app.close() while all libs work', () => {
  const names = Object.keys(modules);
  // The first and the last order are enough for each module to stand before and after each other one.
  const orders = ordersOf(names).filter((_, i) => i % size(119, 13) === 0 || i === 119);

  it.each(orders.map((order) => [order.join(', '), order] as const))(
    'spends no attempt, and ends what uses locks before the locks: %s',
    async (_, order) => {
      const app = await start(order);
      const work = app.get(Work);
      const tasks = Array.from({ length: WORK }, (_, n) => ({ name: 'work', payload: { n } }));
      await Promise.all([
        app.get(DelayedTaskService).scheduleMany(tasks),
        app.get(StreamConsumerService).publishMany(
          'work',
          tasks.map(({ payload }) => ({ payload })),
        ),
      ]);
      const requested = responseOf(await app.getUrl());
      await eventually(() => expect(work.begun).toBeGreaterThan(20));
      const closing = app.close();
      const begun = work.begun;
      await closing;
      expect(await requested).toBe('done');
      expect([work.refused, failed]).toEqual([[], []]);
      // Takes in flight may still have brought some.
      expect(work.begun - begun).toBeLessThan(30);
      await expect(app.get(LockService).acquire('late')).rejects.toMatchObject({ code: expect.any(String) as string });
    },
  );

  it('takes as long as the longest drain, not as all of them', async () => {
    Object.assign(drain, { drainMs: 1_000 });
    const app = await start(names);
    Object.assign(drain, { drainMs: 5_000 });
    const work = app.get(Work);
    work.endless = true;
    await app.get(DelayedTaskService).schedule('work', { n: 1 });
    await app.get(StreamConsumerService).publish('work', { n: 1 });
    void app
      .get(LockService)
      .withLock('endless', {}, () => new Promise<never>(() => undefined))
      .catch(() => undefined);
    void app
      .get(OnceService)
      .run('endless', {}, () => new Promise<never>(() => undefined))
      .catch(() => undefined);
    await eventually(() => expect(work.begun).toBeGreaterThanOrEqual(3));
    const started = performance.now();
    await app.close();
    const tookMs = performance.now() - started;
    expect(tookMs).toBeGreaterThan(1_000);
    // Five drains one after the other would take 5.5 s.
    expect(tookMs).toBeLessThan(4_000);
  });
});
