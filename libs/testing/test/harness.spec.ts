import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  deadLetter,
  defineTask,
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  retryLater,
  type TaskContext,
} from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import {
  defineStream,
  type HandlerResult,
  type StreamMessage,
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
} from 'luanest/stream-consumer';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';
import { SetupError } from '../../internal/src';

interface Mail {
  readonly to: string;
}
const sendMail = defineTask<Mail>({ name: 'mail.send', attempts: 2, backoff: 1_000 });
const orders = defineStream<{ readonly id: number }>({ name: 'orders' });

@Injectable()
class Jobs {
  readonly seen: unknown[] = [];
  block: Promise<void> | undefined;
  unblock: (() => void) | undefined;

  constructor(
    private readonly tasks: DelayedTaskService,
    private readonly jobs: ScheduledLockService,
  ) {}

  @DelayedTask(sendMail)
  async send({ to }: Mail, { attempt }: TaskContext): Promise<unknown> {
    await new Promise(setImmediate);
    if (to === 'nobody') throw new Error('no such address');
    if (to === 'later') return retryLater({ delayMs: 5_000 });
    if (to === 'spam') return deadLetter('spam');
    this.seen.push(`${to} ${attempt}`);
    return { sent: to };
  }

  @StreamConsumer({ stream: orders, group: 'mails', attempts: 3, backoff: { delayMs: 100 } })
  async ordered({ payload }: StreamMessage<{ id: number }>): Promise<HandlerResult> {
    if (payload.id === 9) await this.block;
    if (payload.id === 0) throw new Error('no such order');
    if (payload.id < 0) return deadLetter('negative');
    await this.tasks.schedule(sendMail, { to: `order-${payload.id}` });
    return undefined;
  }

  @StreamConsumer({ stream: orders, group: 'stats' })
  counted(): void {
    this.seen.push('counted');
  }

  @Cron('0 4 * * *', { name: 'report' })
  @ScheduledLock({ name: 'report' })
  report(): string {
    if (this.seen.includes('broken')) throw new Error('broken');
    return 'reported';
  }

  @Cron('0 5 * * *', { name: 'nested' })
  @ScheduledLock({ name: 'nested' })
  async nested(): Promise<void> {
    await this.jobs.runNow('nothing');
  }
}

let app: TestingModule;
let testing: LuanestTesting;

beforeAll(async () => {
  app = await Test.createTestingModule({
    imports: [
      LuanestTestingModule.forRoot(),
      ScheduleModule.forRoot(),
      LockModule.forRoot(),
      RateLimitModule.forRoot(),
      OnceModule.forRoot(),
      ReadRewardModule.forRoot({ rules: { article: { limit: 5, pointsPerItem: 2, timeZone: 'UTC' } } }),
      ScheduledLockModule.forRoot({ namespace: 'shop' }),
      DelayedTaskModule.forRoot(),
      StreamConsumerModule.forRoot(),
    ],
    providers: [Jobs],
  }).compile();
  app.useLogger(false);
  await app.init();
  testing = app.get(LuanestTesting);
});
afterAll(() => app.close());
beforeEach(() => testing.clear());

describe('runTask', () => {
  it('returns what the handler returned', async () => {
    await expect(testing.runTask(sendMail, { to: 'ann' }, { id: 'ann' })).resolves.toEqual({
      id: 'ann',
      status: 'done',
      result: { sent: 'ann' },
      error: undefined,
      reason: '',
      delayMs: undefined,
    });
    expect(testing.tasks.settled).toMatchObject([{ id: 'ann', status: 'done', attempt: 1 }]);
  });

  it('returns what the handler threw, and the pause before the next attempt', async () => {
    const outcome = await testing.runTask(sendMail, { to: 'nobody' });
    expect(outcome).toMatchObject({ status: 'retried', error: new Error('no such address') });
    expect(outcome.reason).toBe('Error: no such address');
    expect(outcome.delayMs).toBeGreaterThanOrEqual(500);
    expect(outcome.delayMs).toBeLessThanOrEqual(1_000);
    await expect(testing.runTask(sendMail, { to: 'nobody' }, { attempts: 1 })).resolves.toMatchObject({
      status: 'dead',
      reason: 'Error: no such address',
    });
  });

  it('returns retryLater() and deadLetter()', async () => {
    await expect(testing.runTask('mail.send', { to: 'later' })).resolves.toMatchObject({
      status: 'retried',
      error: undefined,
      delayMs: 5_000,
    });
    await expect(testing.runTask(sendMail, { to: 'spam' })).resolves.toMatchObject({
      status: 'dead',
      error: undefined,
      reason: 'spam',
    });
  });

  it('refuses tasks that the app does not run', async () => {
    await expect(testing.runTask('mail.unknown', {})).rejects.toThrow(
      'runTask(): The app does not run tasks named mail.unknown. Add a handler with @DelayedTask(), call app.init(), and do not set work: false.',
    );
    await testing.runTask(sendMail, { to: 'later' }, { id: 'same' });
    await expect(testing.runTask(sendMail, { to: 'later' }, { id: 'same' })).rejects.toThrow(
      'A task with the id same exists',
    );
  });
});

describe('deliver', () => {
  it('returns the outcome of each group', async () => {
    const rest = { error: undefined, reason: '', delayMs: undefined };
    await expect(testing.deliver(orders, { id: 7 })).resolves.toEqual([
      { group: 'mails', status: 'handled', ...rest },
      { group: 'stats', status: 'handled', ...rest },
    ]);
    const [failed] = await testing.deliver('orders', { id: 0 });
    expect(failed).toMatchObject({ status: 'retried', error: new Error('no such order') });
    const [dead] = await testing.deliver(orders, { id: -1 });
    expect(dead).toMatchObject({ status: 'dead', reason: 'negative', error: undefined });
    expect(testing.streams.deadLettered).toMatchObject([{ group: 'mails', reason: 'negative' }]);
    const { items } = await app.get(StreamConsumerService).deadLetters(orders, 'mails');
    expect(items).toMatchObject([{ payload: { id: -1 }, error: 'negative' }]);
  });

  it('returns a message that the app has lost', async () => {
    const held = app.get(Jobs);
    held.block = new Promise((resolve) => (held.unblock = resolve));
    const outcomes = testing.deliver(orders, { id: 9 });
    await testing.clock.settle();
    testing.redis.run('FLUSHALL');
    await testing.clock.advance(60_000);
    const [lost] = await outcomes;
    held.unblock?.();
    expect(lost).toMatchObject({ group: 'mails', status: 'lost', reason: expect.any(String) as string });
  });

  it('refuses streams that the app does not read', async () => {
    await expect(testing.deliver('nothing', {})).rejects.toThrow(
      'deliver(): No consumer of the app reads stream nothing. Add a handler with @StreamConsumer(), and call app.init().',
    );
  });
});

describe('tick', () => {
  it('returns the outcome of the job', async () => {
    await expect(testing.tick('report')).resolves.toEqual({ status: 'ran', value: 'reported', error: undefined });
    app.get(Jobs).seen.push('broken');
    await expect(testing.tick('report')).resolves.toEqual({
      status: 'failed',
      value: undefined,
      error: new Error('broken'),
    });
    expect(testing.jobs.ended).toMatchObject([{ status: 'ran' }, { status: 'failed' }]);
    await expect(testing.tick('nothing')).rejects.toThrow('nothing');
    await expect(testing.tick('nested')).resolves.toMatchObject({
      status: 'failed',
      error: expect.any(SetupError) as Error,
    });
  });
});

describe('drain', () => {
  it('waits for what is due, and for what that causes', async () => {
    const { seen } = app.get(Jobs);
    seen.length = 0;
    const streams = app.get(StreamConsumerService);
    await streams.publishMany(orders, [{ payload: { id: 1 } }, { payload: { id: 2 }, key: 'k' }]);
    await app.get(DelayedTaskService).schedule(sendMail, { to: 'tomorrow' }, { delayMs: 86_400_000 });
    await testing.drain();
    expect([...seen].sort()).toEqual(['counted', 'counted', 'order-1 1', 'order-2 1']);
    expect(testing.streams.published).toMatchObject([
      { stream: 'orders', payload: { id: 1 }, key: undefined },
      { stream: 'orders', payload: { id: 2 }, key: 'k', replayed: false },
    ]);
    expect(testing.tasks.scheduled).toMatchObject([
      { name: 'mail.send', payload: { to: 'tomorrow' }, options: { delayMs: 86_400_000 }, status: 'scheduled' },
      { name: 'mail.send', payload: { to: 'order-1' }, runAtMs: testing.clock.nowMs, options: {} },
      { name: 'mail.send', payload: { to: 'order-2' } },
    ]);
  });
});

describe('records', () => {
  it('copy payloads when the call is made', async () => {
    const [mail, many, order] = [{ to: 'ann' }, { to: 'bob' }, { id: 7 }];
    const calls = [
      app.get(DelayedTaskService).schedule(sendMail, mail, { delayMs: 86_400_000 }),
      app.get(DelayedTaskService).scheduleMany([{ task: sendMail, payload: many, delayMs: 86_400_000 }]),
      app.get(StreamConsumerService).publish('archive', order),
    ];
    mail.to = many.to = 'changed';
    order.id = 0;
    await Promise.all(calls);
    // In the order of the replies.
    expect(testing.tasks.scheduled.map(({ payload }) => (payload as Mail).to).sort()).toEqual(['ann', 'bob']);
    expect(testing.streams.published).toMatchObject([{ payload: { id: 7 } }]);
  });

  it('list held locks', async () => {
    const locks = app.get(LockService);
    const one = await locks.acquire(['b', 'a']);
    const other = await locks.acquire('c');
    await locks.tryAcquire('c');
    expect(testing.locks.held).toEqual(['b', 'a', 'c']);
    await one.release();
    expect(testing.locks.held).toEqual(['c']);
    await expect(testing.faults.loseLease('c')).resolves.toBe(true);
    expect(testing.locks.held).toEqual([]);
    expect(() => other.assertHeld()).toThrow('Lock c');
    await expect(other.release()).resolves.toBe('lost');
  });

  it('list refused requests, claims and rewards', async () => {
    const limits = app.get(RateLimitService);
    const rule = { name: 'login', limit: 1, windowMs: 60_000 };
    await limits.consume(rule, 'ann');
    await limits.consume(rule, 'ann');
    expect(testing.limits.refused).toMatchObject([{ rules: ['login'], violated: ['login'], source: 'redis' }]);
    const once = app.get(OnceService);
    await once.run('webhook', { leaseMs: 60_000 }, () => 1);
    await once.run('webhook', { leaseMs: 60_000 }, () => 2);
    expect(testing.once.claims).toEqual(['claimed', 'done']);
    await app.get(ReadRewardService).record({ rule: 'article', userId: 'ann', itemId: '1' });
    expect(testing.rewards.recorded).toEqual([{ rule: 'article', status: 'rewarded', points: 2 }]);
    testing.clear();
    expect([testing.limits.refused, testing.once.claims, testing.rewards.recorded]).toEqual([[], [], []]);
  });
});
