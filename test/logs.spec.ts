import { Injectable, type LoggerService } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import {
  deadLetter,
  retryLater,
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type HandlerResult,
} from 'luanest/stream-consumer';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { watch } from './support/idle-checks';
import { eventually } from './support/wait';

const SECRET = 'secret-4f1c';

class Lines implements LoggerService {
  readonly lines: { readonly level: string; readonly text: string }[] = [];
  log = (...all: unknown[]): void => this.note('log', all);
  error = (...all: unknown[]): void => this.note('error', all);
  warn = (...all: unknown[]): void => this.note('warn', all);
  debug = (...all: unknown[]): void => this.note('debug', all);
  verbose = (...all: unknown[]): void => this.note('verbose', all);
  private note(level: string, all: readonly unknown[]): void {
    this.lines.push({ level, text: all.map(String).join(' ') });
  }
  /** Without what Nest itself says: of its start, and of errors that reach it through enhancers. */
  get ours(): Lines['lines'] {
    return this.lines.filter(
      ({ text }) => !/ (InstanceLoader|RoutesResolver|RouterExplorer|ExceptionsHandler)$/.test(text),
    );
  }
}

@Injectable()
class Work {
  healthy = true;

  @StreamConsumer({ stream: 'orders', group: 'mails' })
  mail({ payload }: { payload: string }): HandlerResult {
    if (this.healthy) return undefined;
    if (payload.endsWith('later')) return retryLater({ delayMs: 1 });
    if (payload.endsWith('never')) return deadLetter(`${payload} is not wanted`);
    if (payload.endsWith('object')) return { payload } as never;
    throw new TypeError(`cannot mail ${payload}`);
  }

  @DelayedTask('order.expire')
  expire(payload: string): void {
    if (!this.healthy) throw new Error(`cannot expire ${payload}`);
  }
}

let server: RedisServer;
let client: Redis;
const logger = new Lines();

async function boot(): Promise<TestingModule> {
  const app = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client, deadlineMs: 3_000 }),
      RateLimitModule.forRoot({}),
      OnceModule.forRoot({}),
      ReadRewardModule.forRoot({ rules: { article: { limit: 1 } } }),
      LockModule.forRoot({ leaseMs: 10_000, waitMs: 0 }),
      DelayedTaskModule.forRoot({ backoff: { delayMs: 1 }, attempts: 3 }),
      StreamConsumerModule.forRoot({
        backoff: { delayMs: 1 },
        attempts: 3,
        leaseMs: 10_000,
      }),
      RedPacketModule.forRoot({ identity: () => undefined }),
    ],
    providers: [Work],
  })
    .setLogger(logger)
    .compile();
  await app.init();
  watch(app.get(ScriptRegistry), 50);
  return app;
}

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host, { password: undefined, retryStrategy: () => 50 });
  client.on('error', () => undefined);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** A call of each lib. */
async function use(app: TestingModule, i: number): Promise<void> {
  const id = `${SECRET}-${i}`;
  await app.get(RateLimitService).consume({ name: 'mail', limit: 1, windowMs: 60_000 }, SECRET);
  await app.get(OnceService).run(id, {}, () => SECRET);
  await app.get(ReadRewardService).record({ rule: 'article', userId: SECRET, itemId: SECRET });
  await app.get(LockService).withLock(id, {}, () => SECRET);
  await app.get(RedPacketService).create({ activityId: id, totalCents: 10, packets: 2 });
  await app.get(RedPacketService).grab(id, SECRET);
  await app.get(DelayedTaskService).schedule('order.expire', SECRET, { id: `order-${i}` });
  await app.get(StreamConsumerService).publish('orders', SECRET, { key: SECRET, operationId: id });
}

it('says nothing while all goes well, and nothing of payloads, ids and tokens when it does not', async () => {
  const well = await boot();
  await use(well, 0);
  // What waits is the end of the red packets.
  await eventually(async () => {
    expect(await well.get(DelayedTaskService).stats()).toMatchObject({ waiting: 1, running: 0 });
    expect(await well.get(StreamConsumerService).stats('orders', 'mails')).toMatchObject({ pending: 0, lag: 0 });
  });
  await well.close();
  expect(logger.ours).toEqual([]);

  const app = await boot();
  const [tasks, streams] = [app.get(DelayedTaskService), app.get(StreamConsumerService)];
  app.get(Work).healthy = false;
  for (const end of ['later', 'never', 'object', 'x', 'y', 'z']) await streams.publish('orders', `${SECRET} ${end}`);
  await client.xadd(
    (await client.keys('*{orders.*:stream'))[0] as string,
    '*',
    ...['payload', `{"no": json ${SECRET}`],
  );
  await tasks.schedule('order.expire', SECRET, { id: 'order-17' });
  await eventually(async () => {
    expect((await tasks.stats()).dead).toBe(1);
    expect((await streams.stats('orders', 'mails')).dead).toBe(6);
  });
  expect((await streams.deadLetters('orders', 'mails')).items.some(({ error }) => error.includes(SECRET))).toBe(true);

  server.pause();
  await Promise.allSettled([use(app, 1), streams.publish('orders', SECRET), tasks.schedule('order.expire', SECRET)]);
  server.resume();
  await eventually(() => client.ping());
  await app.close();

  const texts = logger.ours.map(({ level, text }) => `${level} ${text}`);
  // Tasks that failed are named by their ids; a task that was scheduled into the pause may fail too, or not run any more.
  const ofTasks = (text: string): boolean => text.includes('task "order.expire"');
  expect(texts.filter((text) => ofTasks(text) && text.includes('(id "order-17")'))).toHaveLength(3);
  expect(texts.filter((text) => text.startsWith('error') && !ofTasks(text))).toHaveLength(6);
  expect(texts.filter((text) => /^(log|debug|verbose)/.test(text))).toEqual([]);
  expect(texts.length).toBeLessThan(35);
  expect(texts.filter((text) => /group mails: Work\.mail returned an object of Object/.test(text))).toHaveLength(1);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
});
