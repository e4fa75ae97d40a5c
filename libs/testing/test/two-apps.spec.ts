import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { StreamConsumer, StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { LuanestTesting, LuanestTestingModule, MemoryRedis, TestClock } from 'luanest/testing';

@Injectable()
class Handlers {
  @DelayedTask('mail')
  mail(): void {
    // Only the record counts.
  }

  @StreamConsumer({ stream: 'orders', group: 'mails', backoff: { delayMs: 1_000 } })
  order(): void {
    throw new Error('no mail');
  }
}

const open: TestingModule[] = [];
const closeAll = async (): Promise<void> => {
  for (const app of open.splice(0)) await app.get(LuanestTesting).clock.until(app.close());
};
afterEach(closeAll);

async function start(redis?: MemoryRedis, { works = true } = {}): Promise<[TestingModule, LuanestTesting]> {
  const app = await Test.createTestingModule({
    imports: [
      LuanestTestingModule.forRoot({ redis, registries: ['second'] }),
      LockModule.forRoot({ registry: 'second' }),
      RateLimitModule.forRoot(),
      OnceModule.forRoot(),
      DelayedTaskModule.forRoot({ work: works }),
      StreamConsumerModule.forRoot(),
    ],
    providers: works ? [Handlers] : [],
  }).compile();
  app.useLogger(false);
  await app.init();
  open.push(app);
  return [app, app.get(LuanestTesting)];
}

it('two nodes of an app share a Redis', async () => {
  const [one, testing] = await start();
  const [other, otherTesting] = await start(testing.redis);
  await one.get(OnceService).run('webhook', { leaseMs: 1_000 }, () => 1);
  await expect(other.get(OnceService).run('webhook', { leaseMs: 1_000 }, () => 2)).resolves.toMatchObject({
    status: 'duplicate',
  });
  expect(otherTesting.redis).toBe(testing.redis);
  expect(otherTesting.clock).toBe(testing.clock);
  await testing.faults.redisDown();
  await expect(other.get(OnceService).run('webhook', { leaseMs: 1_000 }, () => 2)).rejects.toMatchObject({
    code: 'NOT_SENT',
  });
  await Promise.all([testing.faults.redisUp(), otherTesting.faults.redisUp()]);
});

it('registries can be one Redis', async () => {
  const redis = new MemoryRedis({ clock: new TestClock() });
  const [app, testing] = await start(redis);
  await app.get(LockService).acquire('a');
  expect([testing.redis, testing.redisOf('second')]).toEqual([redis, redis]);
  expect(redis.server.db.keys()).toContain('luanest:lock:{a}:lock');
});

it('each app has its own records', async () => {
  const redis = new MemoryRedis({ clock: new TestClock() });
  const [one, testing] = await start(redis);
  const [other, otherTesting] = await start(redis, { works: false });
  const rule = { name: 'login', limit: 1, windowMs: 60_000 };
  await one.get(RateLimitService).consume(rule, 'ann');
  await other.get(RateLimitService).consume(rule, 'ann');
  expect([testing.limits.refused.length, otherTesting.limits.refused.length]).toEqual([0, 1]);
  await one.get(OnceService).run('webhook', { leaseMs: 1_000 }, () => 1);
  expect([testing.once.claims, otherTesting.once.claims]).toEqual([['claimed'], []]);
  // The other app schedules and publishes; the workers of the first one run it, woken by the other or by the clock.
  await other.get(DelayedTaskService).schedule('mail', {});
  await other.get(DelayedTaskService).schedule('mail', {}, { delayMs: 60_000 });
  await other.get(StreamConsumerService).publish('orders', {});
  await testing.drain();
  await testing.clock.advance(60_000);
  await testing.drain();
  expect([testing.tasks.scheduled.length, otherTesting.tasks.scheduled.length]).toEqual([0, 2]);
  expect([testing.tasks.settled.length, otherTesting.tasks.settled.length]).toEqual([2, 0]);
  expect([testing.streams.published.length, otherTesting.streams.published.length]).toEqual([0, 1]);
  expect(testing.streams.retried.length).toBeGreaterThan(1);
  expect(otherTesting.streams.retried).toEqual([]);
});

it('a lock belongs to the app that holds it', async () => {
  const redis = new MemoryRedis({ clock: new TestClock() });
  const [one, testing] = await start(redis);
  const [other, otherTesting] = await start(redis);
  await one.get(LockService).acquire('a', { leaseMs: 1_000, renew: false });
  expect([testing.locks.held, otherTesting.locks.held]).toEqual([['a'], []]);
  const waiting = other.get(LockService).acquire('a', { waitMs: 5_000 });
  await testing.clock.advance(1_001);
  const lock = await testing.clock.until(waiting);
  expect([testing.locks.held, otherTesting.locks.held]).toEqual([[], ['a']]);
  await lock.release();
  expect(otherTesting.locks.held).toEqual([]);
});

it('the end of a lock of one app leaves the locks of another app, with a Redis of its own, alone', async () => {
  const [one, testing] = await start();
  const [other, otherTesting] = await start();
  const lock = await one.get(LockService).acquire('a');
  await other.get(LockService).acquire('a');
  await lock.release();
  expect([testing.locks.held, otherTesting.locks.held]).toEqual([[], ['a']]);
});

it('a Redis without a TestClock is refused', () => {
  const message = 'LuanestTestingModule: redis has no TestClock.';
  expect(() => LuanestTestingModule.forRoot({ redis: new MemoryRedis() })).toThrow(message);
  expect(() => LuanestTestingModule.forRoot({ redis: {} as MemoryRedis })).toThrow('Expected a MemoryRedis.');
});
