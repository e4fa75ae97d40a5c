import { LostError } from 'luanest/script-registry';
import { connect } from 'node:http2';
import { once as event } from 'node:events';
import { text } from 'node:stream/consumers';
import { Controller, Get, Injectable, Post } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { CurrentOnceRun, Idempotent, Once, OnceService, type OnceRun } from 'luanest/once';
import { mergeMap, of, type Observable } from 'rxjs';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms, type HttpApp } from './http-support';

/** Runs, by the code that got them. */
let seen: Record<string, OnceRun | undefined> = {};
let service: OnceService;
let gate: Promise<void> = Promise.resolve();

@Injectable()
class Mailer {
  @Once({ id: (id: string) => id })
  async send(id: string): Promise<string> {
    await Promise.resolve();
    seen['message'] = service.current();
    return `sent ${id}`;
  }
}

@Controller()
class Routes {
  @Post('order')
  @Idempotent()
  order(@CurrentOnceRun() run: OnceRun | undefined): unknown {
    run?.assertHeld();
    seen['order'] = run;
    return run?.fence;
  }

  @Post('optional')
  @Idempotent({ required: false })
  optional(@CurrentOnceRun() run: OnceRun | undefined): string {
    return `${run?.id}`;
  }

  @Post('observable')
  @Idempotent()
  observable(@CurrentOnceRun() run: OnceRun): Observable<string> {
    return of('a').pipe(mergeMap(() => Promise.resolve(run.id)));
  }

  @Post('nested')
  @Idempotent()
  async nested(@CurrentOnceRun() run: OnceRun): Promise<string> {
    seen['before the message'] = service.current();
    const sent = await mailer.send(`mail of ${run.id}`);
    seen['after the message'] = service.current();
    return sent;
  }

  @Post('endless')
  @Idempotent({ leaseMs: 400 })
  async endless(@CurrentOnceRun() run: OnceRun): Promise<string> {
    seen['endless'] = run;
    await gate;
    return 'late';
  }

  @Post('gated')
  @Idempotent()
  async gated(@CurrentOnceRun() run: OnceRun): Promise<string> {
    seen['gated'] = run;
    await gate;
    return 'done';
  }

  @Get('open')
  open(@CurrentOnceRun() run: OnceRun | undefined): string {
    return `${run?.id}`;
  }
}
let mailer: Mailer;

type Send = (
  method: 'GET' | 'POST',
  path: string,
  key?: string,
) => Promise<{ status: number; body: string; replayed: boolean }>;

const headersWith = (key?: string): Record<string, string> => ({
  'x-user': 'ann',
  ...(key !== undefined && { 'idempotency-key': key }),
});

async function sendHttp2(url: string, ...[method, path, key]: Parameters<Send>): ReturnType<Send> {
  const session = connect(url);
  const stream = session.request({ ':method': method, ':path': path, ...headersWith(key) });
  stream.end();
  const [headers] = (await event(stream, 'response')) as [Record<string, string | number>];
  const body = await text(stream);
  session.close();
  return { status: Number(headers[':status']), body, replayed: headers['idempotency-replayed'] === 'true' };
}

async function sendHttp1(url: string, ...[method, path, key]: Parameters<Send>): ReturnType<Send> {
  const answer = await fetch(`${url}${path}`, { method, headers: headersWith(key) });
  return { status: answer.status, body: await answer.text(), replayed: answer.headers.has('idempotency-replayed') };
}

describe.each([
  ...platforms.map(([name, adapter]) => [name, adapter, sendHttp1] as const),
  ['Fastify over HTTP/2', () => new FastifyAdapter({ http2: true }), sendHttp2] as const,
])('a run on %s', (_name, adapter, send) => {
  let http: HttpApp;
  let post: (path: string, key?: string) => ReturnType<Send>;

  const start = async (): Promise<void> => {
    http = await openHttp({
      adapter: adapter(),
      client: standaloneClient(),
      controllers: [Routes],
      providers: [Mailer],
      once: { maxLeaseMs: 500 },
    });
    service = http.app.get(OnceService);
    mailer = http.app.get(Mailer);
    post = (path, key) => send(http.url, 'POST', path, key);
  };
  beforeAll(start);
  beforeEach(() => {
    seen = {};
    gate = Promise.resolve();
  });
  afterAll(() => http.close());

  it('is what @CurrentOnceRun() gives to the handler of an idempotent request with a key', async () => {
    const first = await post('/order', 'k1');
    expect(first.status).toBe(201);
    expect(seen['order']).toMatchObject({ id: 'k1', fence: Number(first.body) });
    expect(seen['order']?.fence).toBeGreaterThan(1e15);
    expect(seen['order']?.signal.aborted).toBe(false);
    // The response was sent, so the work has ended.
    expect(() => seen['order']?.assertHeld()).toThrow(LostError);
    expect((await post('/observable', 'k2')).body).toBe('k2');
    expect((await post('/optional', 'k0')).body).toBe('k0');
    expect(await post('/order', 'k1')).toEqual({ ...first, replayed: true });
  });

  it('is undefined without a key, and where the route is not idempotent', async () => {
    expect((await post('/optional')).body).toBe('undefined');
    expect((await send(http.url, 'GET', '/open', 'k')).body).toBe('undefined');
  });

  it('is not current(), which has the run of an @Once() method that the handler calls', async () => {
    expect((await post('/nested', 'k3')).body).toBe('sent mail of k3');
    expect(seen['before the message']).toBeUndefined();
    expect(seen['message']?.id).toBe('mail of k3');
    expect(seen['after the message']).toBeUndefined();
    expect(await service.peek({ scope: 'Mailer.send', id: 'mail of k3' })).toMatchObject({ result: 'sent mail of k3' });
  });

  it('can be read by peek with subject and key: unknown, in progress, then the stored response', async () => {
    const target = { subject: 'ann', key: '"k4"' };
    expect(await service.peek(target)).toEqual({ status: 'unknown' });
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const answer = post('/gated', 'k4');
    await eventually(() => expect(seen['gated']).toBeDefined());
    expect(await service.peek(target)).toMatchObject({ status: 'in-progress', fence: seen['gated']?.fence });
    open();
    await answer;
    const done = await service.peek(target);
    expect(done).toMatchObject({ status: 'done', confirmed: true, result: { status: 201, body: 'done' } });
    expect(await service.peek({ subject: 'bob', key: 'k4' })).toEqual({ status: 'unknown' });
  });

  it('fires its signal after maxLeaseMs; then the key is free', async () => {
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const answer = post('/endless', 'k5');
    await eventually(() => expect(seen['endless']).toBeDefined());
    const { signal } = seen['endless'] as OnceRun;
    await eventually(() => expect(signal.aborted).toBe(true));
    expect(signal.reason).toBeInstanceOf(LostError);
    await eventually(async () =>
      expect(await service.peek({ subject: 'ann', key: 'k5' })).toEqual({ status: 'unknown' }),
    );
    open();
    expect((await answer).body).toBe('late');
  });

  it('is waited for by a shutdown', async () => {
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const answer = post('/gated', 'k6').catch(() => undefined);
    await eventually(() => expect(seen['gated']).toBeDefined());
    let down = false;
    const closing = service.beforeApplicationShutdown().then(() => (down = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(down).toBe(false);
    open();
    await Promise.all([answer, closing]);
    expect((await service.peek({ subject: 'ann', key: 'k6' })).status).toBe('done');
  });
});
