import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT, trace, type Context, type ContextManager } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { MetricsModule } from 'luanest/metrics';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { watch } from '../../../test/support/idle-checks';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { Meters } from './support';

const USER = 'user-7c1d';

/** Enough of a context manager to see what spans are drawn below. */
class Contexts implements ContextManager {
  private readonly current = new AsyncLocalStorage<Context>();
  active = (): Context => this.current.getStore() ?? ROOT_CONTEXT;
  with: ContextManager['with'] = (at, fn, self, ...args) => this.current.run(at, () => fn.call(self as never, ...args));
  bind: ContextManager['bind'] = (_at, target) => target;
  enable = (): this => this;
  disable = (): this => this;
}

const meters = new Meters();
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const client = standaloneClient();
const prefix = uniquePrefix();
let app: TestingModule;
let stopWatching: (() => void) | undefined;

beforeAll(async () => {
  context.setGlobalContextManager(new Contexts());
  app = await Test.createTestingModule({
    imports: [
      MetricsModule.forRoot({
        meterProvider: meters.provider,
        tracerProvider,
        calls: true,
        spans: true,
        tasks: DelayedTaskService,
      }),
      ScriptRegistryModule.forRoot({ client, prefix, preload: 'required' }),
      // A busy machine must not turn a check into one without Redis.
      RateLimitModule.forRoot({ deadlineMs: 10_000 }),
      OnceModule.forRoot({}),
      ReadRewardModule.forRoot({ rules: { article: { limit: 1, pointsPerItem: 2 } } }),
      LockModule.forRoot({}),
      DelayedTaskModule.forRoot({ work: true, backoff: { delayMs: 1 }, attempts: 2 }),
      StreamConsumerModule.forRoot({ backoff: { delayMs: 1 }, attempts: 2 }),
    ],
  }).compile();
  await app.init();
  stopWatching = watch(app.get(ScriptRegistry), 50);
});
afterAll(async () => {
  stopWatching?.();
  await app.close();
  client.disconnect();
  context.disable();
});

it('the metrics show what an app did with the libs', async () => {
  const limits = app.get(RateLimitService);
  const rule = { name: 'mail', limit: 1, windowMs: 60_000 };
  await limits.consume(rule, USER);
  await limits.consume(rule, USER);
  await app.get(OnceService).run(USER, {}, () => 1);
  await app.get(OnceService).run(USER, {}, () => 1);
  for (const itemId of ['a', 'a', 'b'])
    await app.get(ReadRewardService).record({ rule: 'article', userId: USER, itemId });
  const locks = app.get(LockService);
  await locks.withLock(USER, {}, async () =>
    expect(await locks.tryAcquire([USER, 'other']).catch(() => 'mine')).toBe('mine'),
  );
  const held = await locks.acquire(USER);
  expect(await locks.tryAcquire(USER)).toBeUndefined();
  await locks.forceUnlock(USER);
  await held.release();
  const tasks = app.get(DelayedTaskService);
  tasks.handle('fails', () => {
    throw new Error(USER);
  });
  await tasks.schedule('fails', { user: USER }, { id: USER });
  await tasks.schedule('later', { user: USER }, { delayMs: 60_000 });
  const streams = app.get(StreamConsumerService);
  await streams.handle({ stream: 'orders', group: 'mails' }, () => {
    throw new Error(USER);
  });
  await streams.publish('orders', { user: USER }, { key: USER });

  await eventually(async () => {
    const counted = async (name: string): Promise<Record<string, number>> =>
      Object.fromEntries(
        (await meters.values(name)).map(({ attributes, value }) => [
          Object.entries(attributes)
            .filter(([key, word]) => word !== undefined && key !== 'luanest.registry')
            .map(([, word]) => String(word))
            .join(' '),
          value,
        ]),
      );
    expect(await counted('luanest.rate_limit.decisions')).toEqual({ 'allowed redis': 1, 'refused redis': 1 });
    expect(await counted('luanest.rate_limit.violations')).toEqual({ mail: 1 });
    expect(await counted('luanest.once.claims')).toEqual({ claimed: 1, done: 1 });
    expect(await counted('luanest.read_reward.records')).toEqual({
      'article rewarded': 1,
      'article duplicate': 1,
      'article capped': 1,
    });
    expect(await counted('luanest.read_reward.points')).toEqual({ article: 2 });
    expect(await counted('luanest.lock.acquire.duration')).toEqual({ acquired: 2, busy: 1, failed: 1 });
    // Test files of one Jest worker share the channels: a lease that an earlier file left behind may end meanwhile, and is lost.
    expect(await counted('luanest.lock.hold.duration')).toEqual({ released: 1, lost: expect.any(Number) as number });
    expect(await counted('luanest.delayed_task.attempt.duration')).toEqual({
      'default fails retried': 1,
      'default fails dead': 1,
    });
    expect(await counted('luanest.delayed_task.tasks')).toEqual({ waiting: 1, overdue: 0, running: 0, dead: 1 });
    expect(await counted('luanest.stream.retries')).toEqual({ 'orders mails': 1 });
    expect(await counted('luanest.stream.dead_letters')).toEqual({ 'orders mails': 1 });
    expect(await counted('luanest.stream.messages')).toMatchObject({ 'orders mails dead': 1, 'orders mails lag': 0 });
    expect(Object.values(await counted('luanest.script.loads'))[0]).toBeGreaterThan(0);
    const groups = await counted('luanest.script.calls');
    expect(groups).toMatchObject({ 'lock.acquire': expect.any(Number), 'once.claim': expect.any(Number) });
    expect(Object.keys(await counted('luanest.script.call.duration'))).toEqual(
      expect.arrayContaining(Object.keys(groups)),
    );
  });
});

it('no attribute contains the id of a user', async () => {
  const all = [...(await meters.collect()).values()].flatMap(({ dataPoints }) =>
    dataPoints.map(({ attributes }) => attributes),
  );
  expect(all.length).toBeGreaterThan(30);
  expect(JSON.stringify(all)).not.toContain(USER);
});

it('a span is a child of the span of its caller, and contains only names', async () => {
  exporter.reset();
  const tracer = tracerProvider.getTracer('test');
  const parent = tracer.startSpan('request');
  await context.with(trace.setSpan(ROOT_CONTEXT, parent), () => app.get(OnceService).first(USER));
  parent.end();
  const spans = exporter.getFinishedSpans();
  const drawn = spans.find(({ name }) => name === 'EVALSHA once.first');
  expect(drawn?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  expect(drawn?.attributes).toEqual({
    'db.system.name': 'redis',
    'db.operation.name': 'EVALSHA',
    'luanest.registry': expect.any(String),
    'luanest.script': 'once.first',
  });
  expect(drawn?.status).toEqual({ code: 0 });
});

it('the span of a failed call has the code of its error but not its text', async () => {
  exporter.reset();
  const once = app.get(OnceService);
  await client.lpush(`${prefix}:once:{wrong-${USER}}:first`, USER);
  await expect(once.first(`wrong-${USER}`)).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
  const failed = exporter.getFinishedSpans().find(({ name }) => name === 'EVALSHA once.first');
  expect(failed?.attributes['error.type']).toBe('SCRIPT_FAILED');
  expect(failed?.status).toEqual({ code: 2 });
  expect(JSON.stringify([failed?.attributes, failed?.events, failed?.name])).not.toContain(USER);
});

it('an app without the service that the option tasks names does not start', async () => {
  const module = await Test.createTestingModule({
    imports: [
      MetricsModule.forRootAsync({ useFactory: () => ({ meterProvider: meters.provider, tasks: DelayedTaskService }) }),
    ],
  }).compile();
  await expect(module.init()).rejects.toThrow('DelayedTaskService');
  await module.close();
});
