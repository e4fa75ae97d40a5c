import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { Controller, Injectable, Post, Scope } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import { Idempotent, IdempotencyInterceptor, OnceEvents } from 'luanest/once';
import type { Delivery } from '../src/once.types';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { forkWorker } from '../../../test/support/fork-worker';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms, type HttpApp } from './http-support';
import type { ServerJob } from './server';
import { quiet } from './support';

let runs = 0;

@Controller()
class Routes {
  @Post('decorated')
  @Idempotent()
  decorated(): unknown {
    return { run: (runs += 1) };
  }

  @Post('optional')
  @Idempotent({ required: false })
  optional(): unknown {
    return { run: (runs += 1) };
  }

  @Post('bare')
  bare(): unknown {
    return { run: (runs += 1) };
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  readonly made = (runs += 1);
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
@Idempotent()
class Scoped {
  constructor(private readonly perRequest: PerRequest) {}

  @Post()
  create(): unknown {
    return { made: this.perRequest.made };
  }
}

beforeEach(() => {
  runs = 0;
});

describe.each(platforms)('the interceptor on %s', (_name, adapter) => {
  it('that is registered globally applies to POST, also with the decorator, and requires a key', async () => {
    const http = await openHttp({
      adapter: adapter(),
      client: standaloneClient(),
      controllers: [Routes],
      providers: [{ provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor }],
    });
    for (const path of ['/bare', '/decorated']) {
      const first = await http.post(path, `key-${path.slice(1)}`);
      const again = await http.post(path, `key-${path.slice(1)}`);
      expect(first).toMatchObject({ status: 201, replayed: null });
      expect(again).toMatchObject({ status: 201, body: first.body, replayed: 'true' });
    }
    const bare = (path: string) => fetch(`${http.url}${path}`, { method: 'POST', headers: { 'x-user': 'ann' } });
    expect((await bare('/bare')).status).toBe(400);
    expect((await bare('/optional')).status).toBe(201);
    expect(runs).toBe(3);
    await http.close();
  });

  it('applies to request-scoped controllers', async () => {
    const options = { adapter: adapter(), client: standaloneClient(), controllers: [Scoped], providers: [PerRequest] };
    const http = await openHttp(options);
    expect(await http.post('/scoped', 'key-1')).toMatchObject({ body: '{"made":1}', replayed: null });
    expect(await http.post('/scoped', 'key-1')).toMatchObject({ body: '{"made":1}', replayed: 'true' });
    await http.close();
  });
});

describe('an idempotent route when Redis fails', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let http: HttpApp | undefined;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
  });
  afterEach(async () => {
    proxy.pass();
    await http?.close();
    http = undefined;
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  function open(onRedisError: 'refuse' | 'run', deadlineMs: number): Promise<HttpApp> {
    const client = quiet(new Redis(proxy.port, { retryStrategy: () => 20 }));
    const registry = { prefix: uniquePrefix(), deadlineMs };
    const controllers = [Routes];
    return openHttp({ adapter: new FastifyAdapter(), client, controllers, registry, idempotency: { onRedisError } });
  }

  it.each(['refuse', 'blackhole'] as const)('replies 503 with onRedisError refuse: %s', async (fault) => {
    // What is expected of a Redis that is there must be answered in time, also by a machine that stands still for a moment.
    http = await open('refuse', 2_000);
    await eventually(async () => expect((await http?.post('/decorated', 'warm'))?.status).toBe(201));
    proxy[fault]();
    expect((await http.post('/decorated', 'key-1')).status).toBe(503);
    expect(runs).toBe(1);
    proxy.pass();
    await eventually(async () => expect((await http?.post('/decorated', 'key-1'))?.status).toBe(201));
    expect((await http.post('/decorated', 'key-1')).replayed).toBe('true');
    expect(runs).toBe(2);
  });

  it('runs the handler without a claim with onRedisError run', async () => {
    http = await open('run', 300);
    proxy.refuse();
    expect(await http.post('/decorated', 'key-1')).toMatchObject({ status: 201, body: '{"run":1}', replayed: null });
    expect(await http.post('/decorated', 'key-1')).toMatchObject({ status: 201, body: '{"run":2}', replayed: null });
  });

  it('sends a response that cannot be stored, and its key stays claimed until the lease ends', async () => {
    // The claim of the request must be answered in time, also by a machine that stands still for a moment.
    http = await open('refuse', 2_500);
    await eventually(async () => expect((await http?.post('/decorated', 'warm'))?.status).toBe(201));
    let failed = 0;
    const listen = (): void => void (failed += 1);
    subscribe(OnceEvents.settlementFailed, listen);
    const cut = proxy.dropReply({ when: (request) => request.includes('"utf8"]') && (proxy.refuse(), true) });
    expect(await http.post('/decorated', 'key-2')).toMatchObject({ status: 201, body: '{"run":2}' });
    // The response has waited for the confirmation, as long as that could still come.
    expect(failed).toBe(1);
    unsubscribe(OnceEvents.settlementFailed, listen);
    await cut;
    proxy.pass();
    await eventually(async () => expect([201, 409]).toContain((await http?.post('/decorated', 'key-2'))?.status));
    expect(runs).toBe(2);
  });

  it('stores the response once if ioredis sends the confirmation again', async () => {
    http = await open('refuse', 5_000);
    await eventually(async () => expect((await http?.post('/decorated', 'warm'))?.status).toBe(201));
    const cut = proxy.dropReply({ when: (request) => request.includes('"utf8"]') });
    const [first] = await Promise.all([http.post('/decorated', 'key-3'), cut]);
    expect(first).toMatchObject({ status: 201, body: '{"run":2}' });
    expect(await http.post('/decorated', 'key-3')).toMatchObject({ body: '{"run":2}', replayed: 'true' });
  });
});

describe('a process that is killed in an idempotent handler', () => {
  let raw: Redis;
  const children: ChildProcess[] = [];
  beforeAll(() => {
    raw = standaloneClient();
  });
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    raw.disconnect();
  });

  async function start(job: Omit<ServerJob, 'redis'>): Promise<{ child: ChildProcess; url: string }> {
    const child = forkWorker(join(__dirname, 'server.ts'));
    children.push(child);
    child.send({ ...job, redis: sharedRedisUrl() });
    return { child, url: String((await once(child, 'message'))[0]) };
  }

  const post = (url: string): Promise<Response> =>
    fetch(`${url}/orders`, { method: 'POST', headers: { 'idempotency-key': 'key-1' } });

  it.each<[Delivery, string]>([
    ['at-least-once', 'runs again when its lease is over'],
    ['at-most-once', 'is never run again'],
  ])('%s: %s', async (delivery) => {
    const prefix = uniquePrefix();
    const leaseMs = 2_000;
    const [victim, other] = await Promise.all([
      start({ prefix, delivery, leaseMs, hangs: true }),
      start({ prefix, delivery, leaseMs, hangs: false }),
    ]);
    const there = once(victim.child, 'message');
    const lost = post(victim.url).catch(() => 'lost');
    await there;
    const during = await post(other.url);
    expect([during.status, Number(during.headers.get('retry-after'))]).toEqual([409, expect.any(Number)]);
    expect(during.headers.has('retry-after')).toBe(true);
    victim.child.kill('SIGKILL');
    expect(await lost).toBe('lost');
    const after = await eventually(
      async () => {
        const answer = await post(other.url);
        expect(answer.headers.has('retry-after')).toBe(false);
        return { status: answer.status, body: await answer.text() };
      },
      { timeoutMs: 30_000 },
    );
    const expected = {
      'at-least-once': [201, '{"run":2}'],
      'at-most-once': [409, expect.stringContaining('may not have been finished')],
    };
    expect([after.status, after.body]).toEqual(expected[delivery]);
    expect(await raw.get(`${prefix}:runs`)).toBe(delivery === 'at-least-once' ? '2' : '1');
    await raw.del(`${prefix}:runs`);
  });
});
