import { Controller, Injectable, Post, type DynamicModule, type Type } from '@nestjs/common';
import { Cron, ScheduleModule, Timeout } from '@nestjs/schedule';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService, type LockOptions } from 'luanest/lock';
import { startMetrics } from 'luanest/metrics';
import { Idempotent, Once, OnceModule, type OnceHandlerOptions } from 'luanest/once';
import { RateLimit } from 'luanest/rate-limit';
import { RedPacketModule, RedPacketPayouts } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockModule, type ScheduledLockOptions } from 'luanest/scheduled-lock';
import {
  defineStream,
  StreamConsumer,
  StreamConsumerModule,
  type StreamConsumerOptions,
  StreamConsumerService,
} from 'luanest/stream-consumer';
import { LuanestTestingModule } from 'luanest/testing';
import { InvalidOptionError } from '../libs/internal/src';
import { boot, closeAll, everyOfWork, resolver, route } from './support/every-option';

afterEach(closeAll);

describe('options of decorators', () => {
  const refused = (message: string | RegExp) => ({
    code: 'INVALID_OPTION',
    message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
  });
  const loading = (decorate: () => MethodDecorator | ClassDecorator): unknown => {
    try {
      class Cats {
        find(): void {
          // Never called.
        }
      }
      const descriptor = Object.getOwnPropertyDescriptor(Cats.prototype, 'find');
      (decorate() as MethodDecorator)(Cats.prototype, 'find', descriptor as PropertyDescriptor);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it.each<[string, (options: never) => MethodDecorator | ClassDecorator]>([
    ['@ScheduledLock on Cats.find', ScheduledLock],
    ['@StreamConsumer on Cats.find', (options) => StreamConsumer(options) as MethodDecorator],
    ['@Once on Cats.find', Once as never],
    ['@Idempotent on Cats.find', Idempotent],
    ['@RateLimit on Cats.find', RateLimit],
  ])('%s: a value that is not an object is refused', (where, decorator) => {
    const start = `^${where}: The options are `;
    expect(loading(() => decorator(null as never))).toMatchObject(
      refused(new RegExp(`${start}null\\. Expected an object`)),
    );
    expect(loading(() => decorator('a' as never))).toMatchObject(
      refused(new RegExp(`${start}"a"\\. Expected an object`)),
    );
  });

  it('an unknown name is refused when the class is loaded', () => {
    expect(loading(() => Once({ id: () => 'a', scop: 'b' } as never) as MethodDecorator)).toMatchObject(
      refused(/^@Once on Cats\.find: There is no option "scop"\. Known: id, scope, /),
    );
    expect(loading(() => Idempotent({ lease: 1 } as never))).toMatchObject(
      refused(/^@Idempotent on Cats\.find: There is no option "lease"\. Known: required, /),
    );
    expect(loading(() => RateLimit({ limit: 1, ttl: 1 } as never))).toMatchObject(
      refused(/^@RateLimit on Cats\.find: There is no option "ttl"\. Known: name, /),
    );
  });

  it('or when the app boots', async () => {
    @Injectable()
    class Jobs {
      @Cron('0 0 1 1 *')
      @ScheduledLock({ lockAtMostMs: 5 } as never)
      run(): void {
        // Never called.
      }
    }
    await expect(
      boot({ imports: [ScheduleModule.forRoot(), ScheduledLockModule.forRoot({ namespace: 'n' })], providers: [Jobs] }),
    ).rejects.toMatchObject(refused(/^@ScheduledLock on Jobs\.run: There is no option "lockAtMostMs"\. Known: /));
    @Injectable()
    class Consumers {
      @StreamConsumer({ stream: 's', group: 'g', order: true } as never)
      run(): void {
        // Never called.
      }
    }
    await expect(boot({ imports: [StreamConsumerModule.forRoot()], providers: [Consumers] })).rejects.toMatchObject(
      refused(/^@StreamConsumer on Consumers\.run: There is no option "order"\. Known: /),
    );
  });

  it('every one that there is is taken', async () => {
    @Injectable()
    class Jobs {
      @Cron('0 0 1 1 *')
      @ScheduledLock({
        name: 'job',
        leaseMs: 1_000,
        lockAtLeastForMs: 0,
        renew: false,
        onRedisError: 'skip',
        catchUpWithinMs: 0,
      } satisfies Required<Omit<ScheduledLockOptions, 'key'>>)
      run(): void {
        // Never called.
      }
      @Timeout(1_000_000)
      @ScheduledLock({ name: 'once', key: 'k' })
      once(): void {
        // Never called.
      }
      @StreamConsumer({
        stream: 's',
        group: 'g',
        ordered: true,
        from: 'start',
        ...everyOfWork,
      } satisfies Omit<Required<StreamConsumerOptions>, 'pollMs' | 'batch'>)
      consume(): void {
        // Never called.
      }
      @DelayedTask('t')
      work(): void {
        // Never called.
      }
    }
    @Controller()
    class Routes {
      @Once({
        id: () => 'a',
        scope: 's',
        onInProgress: 'skip',
        leaseMs: 10,
        retentionMs: 1,
        delivery: 'at-most-once',
      } satisfies Required<OnceHandlerOptions>)
      @Idempotent(route)
      @Post()
      run(): void {
        // Never called.
      }
    }
    await boot({
      imports: [
        ScheduleModule.forRoot(),
        ScheduledLockModule.forRoot({ namespace: 'n' }),
        StreamConsumerModule.forRoot(),
        DelayedTaskModule.forRoot(),
        OnceModule.forRoot({ idempotency: { subject: resolver } }),
      ],
      providers: [Jobs],
      controllers: [Routes],
    });
  });
});

describe('options of calls', () => {
  const serviceOf = async <T>(type: Type<T>, ...imports: DynamicModule[]): Promise<T> =>
    (await boot({ imports })).get(type);
  const code = 'INVALID_OPTION';

  it('of locks', async () => {
    const locks = await serviceOf(LockService, LockModule.forRoot());
    const message = /^LockService: There is no option "leasMs"\. Known: leaseMs, waitMs, /;
    const refused = { code, message: expect.stringMatching(message) as string };
    const wrong = { leasMs: 1 } as LockOptions;
    await expect(locks.acquire('a', wrong)).rejects.toMatchObject(refused);
    await expect(locks.tryAcquire('a', wrong)).rejects.toMatchObject(refused);
    await expect(locks.withLock('a', wrong, () => 1)).rejects.toMatchObject(refused);
    await expect(locks.withLock('a', null as never, () => 1)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/^LockService: The options are null\. Expected/) as string,
    });
    for (const [options, text] of [
      [{ signal: 5 }, /signal is 5\. Expected an AbortSignal/],
      [{ renew: 'no' }, /^LockService: renew is "no"\. Expected true or false\.$/],
      [{ onBusy: 'skip', waitMs: 5 }, /^LockService: waitMs is 5 ms, but with onBusy: 'skip' the call never waits\./],
    ] as [LockOptions, string | RegExp][]) {
      await expect(locks.acquire('a', options)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(text) as string,
      });
    }
    await expect(locks.tryAcquire('a', { waitMs: 5 } as LockOptions)).rejects.toMatchObject({ code });
    const every: Required<LockOptions> = {
      leaseMs: 1_000,
      waitMs: 0,
      onBusy: 'wait',
      renew: false,
      signal: new AbortController().signal,
    };
    expect(await locks.withLock('a', every, () => 1)).toBe(1);
  });

  it('of streams', async () => {
    const streams = await serviceOf(StreamConsumerService, StreamConsumerModule.forRoot());
    await expect(streams.publish('s', 1, { operationID: 'a' } as never)).rejects.toMatchObject({
      code,
      message:
        'StreamConsumerService.publish: There is no option "operationID". Known: key, operationId, operationRetentionMs.',
    });
    expect(await streams.publish('s', 1, { key: 'k', operationId: 'a' })).toMatchObject({ status: 'published' });
    const consuming = streams.handle({ stream: 's', group: 'g', attempts: 3, lease: 1 } as never, () => undefined);
    await expect(consuming).rejects.toThrow(/^StreamConsumerService.handle: There is no option "lease"\. Known: /);
    expect(() => defineStream({ name: 't', partition: 2 } as never)).toThrow(
      /^defineStream: There is no option "partition"\. Known: name, keys, /,
    );
    await expect(streams.deadLetters('s', 'g', { after: '0:1-1' } as never)).rejects.toThrow(
      /There is no option "after" in page\. Known: limit, cursor\.$/,
    );
  });

  it('of tasks', async () => {
    const tasks = await serviceOf(DelayedTaskService, DelayedTaskModule.forRoot());
    await expect(tasks.schedule('t', 1, { delay: 5 } as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(/^DelayedTaskService: There is no option "delay"\. Known: /) as string,
    });
    const backoff = { delayMs: 1, factor: 1, maxDelayMs: 1 };
    const every = { delayMs: 60_000, id: 'a', attempts: 1, backoff, keepResultMs: 0, onConflict: 'keep' } as const;
    expect(await tasks.schedule('t', 1, every)).toMatchObject({ status: 'scheduled' });
    expect(await tasks.schedule('t', 1, { runAtMs: Date.now() + 60_000 })).toMatchObject({ status: 'scheduled' });
  });

  it('of payouts', async () => {
    const payouts = await serviceOf(
      RedPacketPayouts,
      StreamConsumerModule.forRoot(),
      RedPacketModule.forRoot({ identity: resolver, controller: false }),
    );
    const run = (options: unknown) => payouts.run(() => 'paid' as never, options as object);
    expect(() => run({ discover: 1 })).toThrow(/^RedPacketPayouts: There is no option "discover"\. Known: /);
    expect(() => run(null)).toThrow(InvalidOptionError);
    await run({ ...everyOfWork } satisfies Required<Parameters<RedPacketPayouts['run']>[1]>).stop();
  });

  it('of metrics that are started without Nest, and of a module for tests', () => {
    expect(() => startMetrics({ call: true } as never)).toThrow(
      /^startMetrics: There is no option "call"\. Known: meterProvider, /,
    );
    expect(() => startMetrics(null as never)).toThrow(/^startMetrics: The options are null\./);
    expect(() => LuanestTestingModule.forRoot({ clocks: 1 } as never)).toThrow(
      /^LuanestTestingModule: There is no option "clocks"\./,
    );
    expect(() => LuanestTestingModule.forRoot(null as never)).toThrow(/^LuanestTestingModule: The options are null\./);
  });
});
