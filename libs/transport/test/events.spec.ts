import {
  Catch,
  Controller,
  Injectable,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExceptionFilter,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { Ctx, EventPattern, Payload, RpcException, Transport } from '@nestjs/microservices';
import { deadLetter, retryLater } from 'luanest/stream-consumer';
import { eventStream, STREAM_TRANSPORT, StreamContext, StreamExceptionFilter, StreamRecord } from 'luanest/transport';
import { concatWith, lastValueFrom, map, NEVER, Observable, of, throwError, timer } from 'rxjs';
import { forkWorker } from '../../../test/support/fork-worker';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { waitUntil } from '../../../test/support/wait';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import { closeAll, openService } from './support';
import type { EventWorkerJob } from './worker';
import { join } from 'node:path';

afterEach(closeAll);

/** Payloads of the handlers, by the name of the service. */
let got: unknown[][] = [];
beforeEach(() => (got = []));

function listener(
  service: string,
  work: (data: unknown, context: StreamContext) => unknown = () => undefined,
  filters: Type<ExceptionFilter>[] = [StreamExceptionFilter],
): Type {
  @UseFilters(...filters)
  @Controller()
  class Listener {
    @EventPattern<string>('order.paid')
    handle(@Payload() data: unknown, @Ctx() context: StreamContext): unknown {
      got.push([service, data, context.attempt]);
      return work(data, context);
    }
  }
  return Listener;
}

const dead = async ({ streams }: Awaited<ReturnType<typeof openService>>, pattern = 'order.paid', group = 'orders') =>
  (await streams.deadLetters(eventStream(pattern), group)).items;

describe.each([
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
] as const)('an event, %s', (_kind, connect) => {
  it('reaches each service once, whichever of its processes', async () => {
    const prefix = uniquePrefix();
    const mail = await openService({ prefix, raw: connect(), group: 'mail', controllers: [listener('mail')] });
    await openService({ prefix, raw: connect(), group: 'mail', controllers: [listener('mail')] });
    await openService({ prefix, raw: connect(), group: 'stock', controllers: [listener('stock')] });
    for (let i = 0; i < 20; i++) await lastValueFrom(mail.client.emit('order.paid', { i }));
    await waitUntil('all are handled', () => got.length >= 40);
    const sorted = (service: string): unknown[] =>
      got
        .flatMap(([name, data, attempt]) => (name === service ? [[(data as { i: number }).i, attempt]] : []))
        .sort((a, b) => Number(a[0]) - Number(b[0]));
    const once = Array.from({ length: 20 }, (_, i) => [i, 1]);
    expect([sorted('mail'), sorted('stock')]).toEqual([once, once]);
  });

  it('waits for a service that is not there', async () => {
    const prefix = uniquePrefix();
    const { client } = await openService({ prefix, raw: connect() });
    expect(await lastValueFrom(client.emit('order.paid', 'early'))).toMatchObject({
      status: 'published',
      replayed: false,
    });
    await openService({ prefix, raw: connect(), controllers: [listener('late')] });
    await waitUntil('it is handled', () => got.length > 0);
    expect(got).toEqual([['late', 'early', 1]]);
  });
});

describe('the attempts of an event', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('no paper');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('no paper'))],
    ['returns an observable that fails', () => of(1).pipe(concatWith(throwError(() => new Error('no paper'))))],
  ])('are repeated, and end as a dead letter, if the handler %s', async (_how, work) => {
    const service = await openService({
      prefix: uniquePrefix(),
      controllers: [listener('mail', work)],
      module: { attempts: 3 },
    });
    await lastValueFrom(service.client.emit('order.paid', 7));
    const [letter] = await waitUntil('it is a dead letter', async () =>
      (await dead(service)).length > 0 ? dead(service) : undefined,
    );
    expect(got.map(([, , attempt]) => attempt)).toEqual([1, 2, 3]);
    expect(letter).toMatchObject({ payload: { data: 7 }, attemptsMade: 3, error: 'Error: no paper' });
    // An operator sends it again.
    expect(await service.streams.replayAll(eventStream('order.paid'), 'orders')).toBe(1);
    await waitUntil('it is handled again', () => got.length > 3);
    expect(got[3]).toEqual(['mail', 7, 1]);
  });

  it.each([
    ['returned', () => deadLetter('no such order')],
    ['promised', async () => Promise.resolve(deadLetter('no such order'))],
    ['emitted', () => timer(1).pipe(map(() => deadLetter('no such order')))],
    [
      'thrown',
      () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- handlers may throw an outcome
        throw deadLetter('no such order');
      },
    ],
  ])('end at once with an outcome that was %s', async (_how, work) => {
    const service = await openService({ prefix: uniquePrefix(), controllers: [listener('mail', work)] });
    await lastValueFrom(service.client.emit('order.paid', 7));
    await waitUntil('it is a dead letter', async () => (await dead(service)).length > 0);
    expect(await dead(service)).toMatchObject([{ attemptsMade: 1, error: 'no such order' }]);
  });

  it('are not counted if the handler says so', async () => {
    const work = (): unknown => (got.length < 4 ? retryLater({ delayMs: 1, countsAsAttempt: false }) : undefined);
    const { client, streams } = await openService({
      prefix: uniquePrefix(),
      controllers: [listener('mail', work)],
      module: { attempts: 2 },
    });
    await lastValueFrom(client.emit('order.paid', 7));
    await waitUntil(
      'it is settled',
      async () => got.length === 4 && (await streams.stats(eventStream('order.paid'), 'orders')).length === 0,
    );
    expect(got.map(([, , attempt]) => attempt)).toEqual([1, 1, 1, 1]);
  });

  it("pass Nest's own filter as an RpcException, and else without their text", async () => {
    const works: Record<string, () => unknown> = {
      outcome: () => {
        throw new RpcException(deadLetter('no such order'));
      },
      text: () => {
        throw new RpcException('no paper');
      },
      error: () => {
        throw new Error('secret');
      },
    };
    const work = (data: unknown): unknown => works[String(data)]?.();
    const service = await openService({
      prefix: uniquePrefix(),
      controllers: [listener('mail', work, [])],
      module: { attempts: 1 },
    });
    for (const name of Object.keys(works)) await lastValueFrom(service.client.emit('order.paid', name));
    await waitUntil('all are dead letters', async () => (await dead(service)).length === 3);
    const errors = (await dead(service)).map(({ payload, error }) => [(payload as { data: string }).data, error]);
    expect(Object.fromEntries(errors)).toEqual({
      outcome: 'no such order',
      text: expect.stringContaining('no paper'),
      error: expect.stringContaining('Internal server error'),
    });
  });

  it('end with timeoutMs, and then an observable is unsubscribed', async () => {
    let stopped = 0;
    const never = new Observable(() => () => void (stopped += 1));
    @Controller()
    class Slow {
      @EventPattern<string>('slow', { timeoutMs: 30, attempts: 2 })
      handle(@Ctx() { signal }: StreamContext): unknown {
        signal.addEventListener('abort', () => got.push([(signal.reason as Error).name]));
        return never;
      }
    }
    const service = await openService({ prefix: uniquePrefix(), controllers: [Slow] });
    await lastValueFrom(service.client.emit('slow', 1));
    await waitUntil('it is a dead letter', async () => (await dead(service, 'slow')).length > 0);
    expect([stopped, got]).toEqual([2, [['TimeoutError'], ['TimeoutError']]]);
  });

  it('go on in another process if this one is killed', async () => {
    const prefix = uniquePrefix();
    const worker = forkWorker(join(__dirname, 'worker.ts'));
    const began = new Promise<unknown>((resolve) => {
      worker.on('message', (note) =>
        note === 'ready' ? void lastValueFrom(service.client.emit('order.paid', 'x')) : resolve(note),
      );
    });
    const service = await openService({ prefix, controllers: [] });
    worker.send({ url: sharedRedisUrl(), prefix } satisfies EventWorkerJob);
    expect(await began).toEqual(['began', 'x', 1]);
    worker.kill('SIGKILL');
    await openService({ prefix, controllers: [listener('other')], module: { leaseMs: 500 } });
    await waitUntil('it is handled', () => got.length > 0);
    expect(got).toEqual([['other', 'x', 2]]);
  }, 60_000);
});

describe('the options of a pattern', () => {
  it('keep the order of a key, and add an operation once', async () => {
    let running = 0;
    let most = 0;
    @Controller()
    class Ordered {
      @EventPattern<string>('step', { ordered: true, concurrency: 10 })
      async handle(@Payload() data: number): Promise<void> {
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        got.push([data]);
      }
    }
    const { client } = await openService({ prefix: uniquePrefix(), controllers: [Ordered] });
    for (let i = 0; i < 8; i++) await lastValueFrom(client.emit('step', new StreamRecord(i, { key: 'o1' })));
    for (const replayed of [false, true]) {
      const record = new StreamRecord(8, { key: 'o1', operationId: 'last' });
      expect(await lastValueFrom(client.emit('step', record))).toMatchObject({ replayed });
    }
    await lastValueFrom(client.emit('step', new StreamRecord(9, { key: 'o1' })));
    await waitUntil('all are handled', () => got.length >= 10);
    expect([most, got.flat()]).toEqual([1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  it.each([
    [{ attempt: 3 }, /@EventPattern\(x\): There is no option "attempt"/],
    [{ group: 'g' }, /There is no option "group"/],
    [{ attempts: 0 }, /attempts is 0/],
  ])('%j are refused', async (extras, message) => {
    @Controller()
    class Wrong {
      @EventPattern<string>('x', extras)
      handle(): void {}
    }
    await expect(openService({ prefix: uniquePrefix(), controllers: [Wrong] })).rejects.toThrow(message);
  });

  it('are those of all its handlers', async () => {
    @Controller()
    class Two {
      @EventPattern<string>('x', { attempts: 2 })
      one(): void {}
      @EventPattern<string>('x', { attempts: 3 })
      two(): void {}
    }
    await expect(openService({ prefix: uniquePrefix(), controllers: [Two] })).rejects.toThrow(
      /other options \(extras\)/,
    );
  });

  it('pass an event to all handlers of the pattern, but not to those of other transports', async () => {
    @Controller()
    class Three {
      @EventPattern({ b: 1, a: 'x y' })
      one(@Payload() data: unknown): void {
        got.push(['one', data]);
      }
      @EventPattern({ a: 'x y', b: 1 }, STREAM_TRANSPORT)
      two(@Payload() data: unknown): unknown {
        got.push(['two', data]);
        return deadLetter('enough');
      }
      @EventPattern({ a: 'x y', b: 1 }, Transport.TCP)
      three(): void {
        got.push(['three']);
      }
    }
    const service = await openService({ prefix: uniquePrefix(), controllers: [Three] });
    await lastValueFrom(service.client.emit({ a: 'x y', b: 1 }, 5));
    await waitUntil(
      'it is a dead letter',
      async () => (await service.streams.deadLetters(eventStream({ a: 'x y', b: 1 }), 'orders')).items.length > 0,
    );
    expect(got).toEqual([
      ['one', 5],
      ['two', 5],
    ]);
  });
});

it('runs guards, pipes, interceptors and filters of Nest, and classes with request scope', async () => {
  @Injectable()
  class Guard implements CanActivate {
    canActivate(context: Parameters<CanActivate['canActivate']>[0]): boolean {
      const rpc = context.switchToRpc();
      got.push(['guard', context.getType(), rpc.getContext() instanceof StreamContext]);
      return rpc.getData<number>() !== 13;
    }
  }
  @Injectable()
  class Doubles implements PipeTransform {
    transform(value: number): number {
      return value * 2;
    }
  }
  const notes: NestInterceptor = {
    intercept: (_context, next) => {
      got.push(['interceptor']);
      return next.handle();
    },
  };
  @Catch(TypeError)
  class ToDeadLetter implements ExceptionFilter {
    catch(error: Error): unknown {
      return throwError(() => deadLetter(`filtered ${error.message}`) as never);
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class PerMessage {
    readonly made = got.push(['made']);
  }
  @UseGuards(Guard)
  @UseInterceptors(notes)
  @UseFilters(ToDeadLetter)
  @Controller()
  class Handlers {
    constructor(readonly state: PerMessage) {}
    @EventPattern<string>('n')
    handle(@Payload(Doubles) data: number): void {
      got.push(['handler', data]);
      if (data === 14) throw new TypeError('of fourteen');
    }
  }
  const service = await openService({
    prefix: uniquePrefix(),
    controllers: [Handlers],
    providers: [PerMessage],
    module: { attempts: 1 },
  });
  for (const [n, length] of [
    [1, 0],
    [7, 1],
    [13, 2],
  ] as const) {
    await lastValueFrom(service.client.emit('n', n));
    await waitUntil(`${n} is settled`, async () => {
      const { dead: letters, length: left } = await service.streams.stats(eventStream('n'), 'orders');
      return letters === length && left === 0;
    });
  }
  const seen = (value: number): unknown[] => [['made'], ['guard', 'rpc', true], ['interceptor'], ['handler', value]];
  expect(got).toEqual([...seen(2), ...seen(14), ['made'], ['guard', 'rpc', true]]);
  expect((await dead(service, 'n')).map(({ error }) => error)).toEqual([
    'filtered of fourteen',
    expect.stringContaining('Forbidden resource'),
  ]);
});

describe('emit', () => {
  it('rejects if Redis does not have the event', async () => {
    const { client, registry } = await openService({ prefix: uniquePrefix() });
    await expect(lastValueFrom(client.emit('x', 1n))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(lastValueFrom(client.emit('x', 'a'.repeat(1_048_577)))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    registry.close();
    await expect(lastValueFrom(client.emit('x', 1))).rejects.toMatchObject({ code: 'NOT_SENT' });
  });

  it('passes on what a hook of the client adds', async () => {
    const { client } = await openService({
      prefix: uniquePrefix(),
      controllers: [listener('mail', (_data, context) => void got.push([context.getMetadata()]))],
    });
    client.setOnDispatchHook((packet) => (packet.metadata = { trace: 't1' }));
    await lastValueFrom(client.emit('order.paid', 1));
    await waitUntil('it is handled', () => got.length > 1);
    expect(got[1]).toEqual([{ trace: 't1' }]);
  });
});

it('waits at the shutdown for handlers that run, and hands back what does not end', async () => {
  const prefix = uniquePrefix();
  let end: (() => void) | undefined;
  const held = new Promise<void>((resolve) => (end = resolve));
  const work = (data: unknown): unknown => (data === 'quick' ? held.then(() => got.push(['ended'])) : NEVER);
  const { client, close, server } = await openService({
    prefix,
    controllers: [listener('one', work)],
    module: { drainMs: 200, abortGraceMs: 50 },
  });
  const statuses: string[] = [];
  server.status.subscribe((status) => statuses.push(status));
  await lastValueFrom(client.emit('order.paid', 'quick'));
  await lastValueFrom(client.emit('order.paid', 'endless'));
  await waitUntil('both run', () => got.length === 2);
  const closed = close();
  end?.();
  await closed;
  expect(got[2]).toEqual(['ended']);
  expect(statuses).toEqual(['connected', 'disconnected']);
  await openService({ prefix, controllers: [listener('two')] });
  await waitUntil('another service has it', () => got.length > 3);
  expect(got[3]).toMatchObject(['two', 'endless', expect.any(Number)]);
});
