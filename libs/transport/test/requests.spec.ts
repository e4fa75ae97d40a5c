import { join } from 'node:path';
import {
  Controller,
  Injectable,
  Scope,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { Ctx, MessagePattern, Payload, RpcException } from '@nestjs/microservices';
import { Redis } from 'ioredis';
import { startRedis } from 'luanest/testing/servers';
import { concatWith, firstValueFrom, from, lastValueFrom, map, NEVER, Observable, of, throwError, toArray } from 'rxjs';
import { StreamRecord, type StreamContext } from 'luanest/transport';
import { forkWorker } from '../../../test/support/fork-worker';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { sleep, waitUntil } from '../../../test/support/wait';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import { requestStream, SERVERS } from '../src/transport.patterns';
import { closeAll, openService, type Service } from './support';
import type { EventWorkerJob } from './worker';

afterEach(closeAll);

let got: unknown[] = [];
beforeEach(() => (got = []));

/** A controller with a handler of the requests `sum`. */
function handlerOf(work: (data: never, context: StreamContext) => unknown): Type {
  @Controller()
  class Handler {
    @MessagePattern('sum')
    handle(@Payload() data: never, @Ctx() context: StreamContext): unknown {
      got.push(data);
      return work(data, context);
    }
  }
  return Handler;
}

const serve = (work: (data: never, context: StreamContext) => unknown, more: object = {}): Promise<Service> =>
  openService({ prefix: uniquePrefix(), controllers: [handlerOf(work)], ...more });

const all = (service: Service, data: unknown = 1): Promise<unknown[]> =>
  lastValueFrom(service.client.send('sum', data).pipe(toArray()));

const left = async ({ streams }: Service): Promise<number> =>
  (await streams.stats(requestStream('sum'), SERVERS)).length;

const whole = (service: Service): Promise<unknown> =>
  waitUntil('the request is settled', async () => (await left(service)) === 0);

describe.each([
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
] as const)('a request, %s', (_kind, connect) => {
  it('is handled by one process of all services, and replied to its client', async () => {
    const prefix = uniquePrefix();
    const controllers = [handlerOf(([a, b]: [number, number]) => a + b)];
    for (const group of ['a', 'a', 'b']) await openService({ prefix, raw: connect(), group, controllers });
    const clients = [await openService({ prefix, raw: connect() }), await openService({ prefix, raw: connect() })];
    const sums = await Promise.all(Array.from({ length: 40 }, (_, i) => all(clients[i % 2] as Service, [i, 1])));
    expect(sums).toEqual(Array.from({ length: 40 }, (_, i) => [i + 1]));
    expect(got).toHaveLength(40);
  });
});

describe('the reply', () => {
  it.each([
    ['a value', () => ({ ok: true }), [{ ok: true }]],
    ['a promise', async () => Promise.resolve('later'), ['later']],
    ['an observable', () => from([1, 2, 3]), [1, 2, 3]],
    ['values of any time', () => of(1, 2).pipe(concatWith(sleep(10).then(() => 3))), [1, 2, 3]],
    ['an observable of nothing', () => from([]), []],
    ['nothing', () => undefined, []],
    ['null', () => null, [null]],
    ['false', () => false, [false]],
  ])('is that of Nest for %s', async (_what, work, expected) => {
    expect(await all(await serve(work))).toEqual(expected);
  });

  it.each([
    [
      'an RpcException of text',
      () => {
        throw new RpcException('no such order');
      },
      { status: 'error', message: 'no such order' },
    ],
    [
      'an RpcException of an object',
      () => {
        throw new RpcException({ code: 7 });
      },
      { code: 7 },
    ],
    [
      'an error, without its text',
      () => {
        throw new Error('secret');
      },
      { status: 'error', message: 'Internal server error' },
    ],
    ['a rejection', async () => Promise.reject(new RpcException('no')), { status: 'error', message: 'no' }],
    ['an observable that fails', () => throwError(() => new RpcException('no')), { status: 'error', message: 'no' }],
  ])('is the error that Nest makes of %s, once', async (_what, work, expected) => {
    const service = await serve(work);
    await expect(all(service)).rejects.toEqual(expected);
    await whole(service);
    expect(got).toHaveLength(1);
    expect((await service.streams.stats(requestStream('sum'), SERVERS)).dead).toBe(0);
  });

  it('has the values before an error', async () => {
    const { client } = await serve(() => of(1, 2).pipe(concatWith(throwError(() => new RpcException('no')))));
    const seen: unknown[] = [];
    await new Promise<void>((resolve) => {
      client
        .send('sum', 1)
        .subscribe({ next: (value) => seen.push(value), error: (error) => resolve(void seen.push(error)) });
    });
    expect(seen).toEqual([1, 2, { status: 'error', message: 'no' }]);
  });

  it.each([
    ['JSON cannot hold it', () => 1n, /cannot be written as JSON/],
    ['it is too large', () => 'a'.repeat(1_048_577), /more than 1048576 bytes/],
  ])('is an error if %s', async (_why, work, message) => {
    await expect(all(await serve(work))).rejects.toMatchObject({
      status: 'error',
      message: expect.stringMatching(message),
    });
  });

  it('is not passed on with a part that came twice, nor without one that was lost', async () => {
    const service = await serve(() => from([1, 2, 3]));
    const run = service.registry.run.bind(service.registry) as (...args: unknown[]) => Promise<unknown>;
    const replies = (how: (send: () => Promise<unknown>, nth: number) => Promise<unknown>): void => {
      let nth = 0;
      service.registry.run = ((...args: [{ name: string }]) =>
        args[0].name === 'transport.reply' ? how(() => run(...args), (nth += 1)) : run(...args)) as never;
    };
    replies(async (send) => [await send(), await send()]);
    expect(await all(service)).toEqual([1, 2, 3]);
    replies(async (send, nth) => (nth === 2 ? undefined : send()));
    await expect(all(service)).rejects.toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: expect.stringContaining('A part of the reply was lost'),
    });
  });

  it('comes after the connection for replies was lost and opened again', async () => {
    let end: (() => void) | undefined;
    // Other test files have connections to the shared server, too.
    const server = await startRedis();
    try {
      const own = new Redis(server.port);
      const service = await serve(() => new Promise<string>((resolve) => (end = () => resolve('late'))), { raw: own });
      const statuses: string[] = [];
      service.client.status.subscribe((status) => statuses.push(status));
      const reply = all(service);
      await waitUntil('the handler runs', () => got.length > 0);
      await own.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await waitUntil('the client listens again', () => statuses.length === 3);
      end?.();
      expect(await reply).toEqual(['late']);
      expect(statuses).toEqual(['connected', 'disconnected', 'connected']);
      await service.close();
    } finally {
      await server.stop();
    }
  });
});

/** Time in which a busy machine sends a request and begins to handle it, too. */
const LONG_ENOUGH_MS = 2_000;

describe('a request whose reply does not come', () => {
  it('fails after timeoutMs, fires the signal, and unsubscribes the observable', async () => {
    let stopped = 0;
    let reason: unknown;
    const work = (_data: never, { signal }: StreamContext): unknown => {
      signal.addEventListener('abort', () => (reason = signal.reason as unknown));
      return new Observable(() => () => void (stopped += 1));
    };
    const service = await serve(work, { requestMs: LONG_ENOUGH_MS });
    await expect(all(service)).rejects.toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: expect.stringContaining(`No reply came within ${LONG_ENOUGH_MS} ms`),
    });
    await whole(service);
    expect([stopped, reason]).toEqual([1, expect.objectContaining({ code: 'TIMEOUT' })]);
  });

  it('is not handled after its client has given up', async () => {
    const prefix = uniquePrefix();
    const early = await openService({ prefix, requestMs: LONG_ENOUGH_MS });
    await expect(all(early)).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    expect(await left(early)).toBe(1);
    // On a busy machine, Redis got the request some time after the client had sent it.
    await sleep(LONG_ENOUGH_MS);
    const late = await openService({ prefix, controllers: [handlerOf(() => 1)] });
    await whole(late);
    expect(got).toEqual([]);
    expect(await all(late)).toEqual([1]);
  });

  it('is not sent after its client has given up, also if the first call to its stream takes long', async () => {
    const service = await openService({ prefix: uniquePrefix(), requestMs: 50 });
    const { registry } = service;
    const run = registry.run.bind(registry) as (...args: unknown[]) => Promise<unknown>;
    let announced = false;
    jest.spyOn(registry, 'run').mockImplementation(async (script: { name: string }, input: unknown) => {
      const result = await run(script, input);
      if (script.name !== 'stream-consumer.announce') return result;
      await sleep(200);
      announced = true;
      return result;
    });
    await expect(all(service)).rejects.toMatchObject({ code: 'NOT_SENT' });
    await waitUntil('the stream is announced', () => announced);
    await sleep(50);
    expect(await left(service)).toBe(0);
  });

  it('was not sent if Redis is unavailable', async () => {
    const { client, registry } = await openService({ prefix: uniquePrefix() });
    registry.close();
    await expect(firstValueFrom(client.send('sum', 1))).rejects.toMatchObject({ code: 'NOT_SENT' });
  });

  it('was not sent if too many wait', async () => {
    const service = await openService({ prefix: uniquePrefix() });
    const waiting = { data: 0, id: '1', client: 'c', timeoutMs: 1 };
    await service.streams.publishMany(
      requestStream('sum'),
      Array.from({ length: 10_000 }, () => ({ payload: waiting })),
    );
    await expect(all(service)).rejects.toMatchObject({
      code: 'NOT_SENT',
      message: expect.stringContaining('10000 messages wait'),
    });
  }, 60_000);

  it('was not sent if its data is a record with options', async () => {
    const { client } = await openService({ prefix: uniquePrefix() });
    await expect(firstValueFrom(client.send('sum', new StreamRecord(1, { key: 'k' })))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  it('fails at once when its client is closed', async () => {
    const service = await serve(() => NEVER);
    const reply = all(service);
    const failed = expect(reply).rejects.toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: expect.stringContaining('StreamClient was closed'),
    });
    await waitUntil('the handler runs', () => got.length > 0);
    service.client.close();
    await failed;
  });

  it('is not repeated when its server is killed', async () => {
    const prefix = uniquePrefix();
    const service = await openService({ prefix, requestMs: 12_000 });
    const worker = forkWorker(join(__dirname, 'worker.ts'));
    const notes: unknown[] = [];
    worker.on('message', (note) => notes.push(note));
    worker.send({ url: sharedRedisUrl(), prefix } satisfies EventWorkerJob);
    await waitUntil('the worker is ready', () => notes.length === 1);
    const reply = expect(all(service)).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    await waitUntil('the handler runs', () => notes.length === 2);
    worker.kill('SIGKILL');
    const other = await openService({ prefix, controllers: [handlerOf(() => 2)], module: { leaseMs: 500 } });
    await whole(other);
    expect(got).toEqual([]);
    await reply;
  }, 60_000);

  it('is not repeated, and fails, when its server shuts down and the handler does not end', async () => {
    const prefix = uniquePrefix();
    const module = { drainMs: 50, abortGraceMs: 200 };
    const work = (): unknown => new Promise(() => undefined);
    const server = await openService({ prefix, controllers: [handlerOf(work)], module });
    const client = await openService({ prefix });
    const reply = expect(all(client)).rejects.toMatchObject({ status: 'error' });
    await waitUntil('the handler runs', () => got.length === 1);
    await server.close();
    await reply;
    const other = await openService({ prefix, controllers: [handlerOf(work)] });
    await whole(other);
    expect(got).toHaveLength(1);
  });

  it('has a payload that no client sent: it is settled', async () => {
    const service = await serve(() => 1);
    const { streams } = service;
    for (const payload of [null, 5, {}, { data: 1, id: 'x', client: '', timeoutMs: 1e9 }, { timeoutMs: 'x' }]) {
      await streams.publish(requestStream('sum'), payload as never);
    }
    await whole(service);
    expect(got).toEqual([]);
    expect((await streams.stats(requestStream('sum'), SERVERS)).dead).toBe(0);
  });
});

it('runs guards, pipes and interceptors of Nest, and classes with request scope', async () => {
  const guard: CanActivate = { canActivate: (context) => context.switchToRpc().getData<number>() !== 13 };
  const doubles: PipeTransform = { transform: (value: number) => value * 2 };
  const wraps: NestInterceptor = {
    intercept: (_context, next) => next.handle().pipe(map((value: unknown) => ({ value }))),
  };
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    readonly made = got.push('made');
  }
  @UseGuards(guard)
  @UseInterceptors(wraps)
  @Controller()
  class Handler {
    constructor(readonly state: PerRequest) {}
    @MessagePattern('sum')
    handle(@Payload(doubles) data: number): number {
      return data;
    }
  }
  const service = await openService({ prefix: uniquePrefix(), controllers: [Handler], providers: [PerRequest] });
  expect(await all(service, 4)).toEqual([{ value: 8 }]);
  await expect(all(service, 13)).rejects.toMatchObject({ message: 'Forbidden resource' });
  expect(got).toEqual(['made', 'made']);
});
