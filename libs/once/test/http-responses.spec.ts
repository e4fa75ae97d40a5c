import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  Controller,
  ForbiddenException,
  Param,
  Post,
  Res,
  StreamableFile,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Idempotent, OnceEvents } from 'luanest/once';
import { catchError, concat, defer, map, NEVER, of, race, throwError, type Observable } from 'rxjs';
import { eventually, sleep } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms, type HttpApp } from './http-support';

let runs = 0;
let gate: Promise<void> | undefined;
let thrown = 0;

interface AnyResponse {
  header(name: string, value: string): AnyResponse;
  status(code: number): AnyResponse;
  send(body: unknown): unknown;
  removeHeader(name: string): unknown;
}

@Controller()
class Routes {
  @Post('user')
  @Idempotent()
  user(): unknown {
    return { id: (runs += 1), password: 'secret' };
  }

  @Post('by-hand')
  @Idempotent()
  byHand(@Res() response: AnyResponse): void {
    response
      .status(202)
      .header('content-type', 'text/csv')
      .send(`run,${(runs += 1)}\n`);
  }

  /** Past the framework, as Node has it. */
  @Post('raw/:way')
  @Idempotent()
  raw(@Param('way') way: string, @Res() response: { raw?: ServerResponse; hijack?(): void }): void {
    const raw = response.raw ?? (response as unknown as ServerResponse);
    response.hijack?.();
    runs += 1;
    if (way === 'list') {
      raw.setHeader('x-run', runs);
      raw.writeHead(201, ['Content-Type', 'text/plain', 'X-List', 'yes']);
      raw.end('7a7a', 'hex');
    } else if (way === 'object') {
      raw.setHeader('x-run', runs);
      raw.writeHead(202, { 'Content-Type': 'text/csv', 'X-Object': 'yes' });
      raw.end(`run,${runs}`);
      raw.write('after the end');
      raw.end('again');
    } else {
      raw.flushHeaders();
      raw.write('one, ');
      raw.end('two');
    }
  }

  @Post('bytes')
  @Idempotent()
  bytes(@Res() response: AnyResponse): void {
    response.header('content-type', 'image/png').send(Buffer.from([0xff, 0x00, (runs += 1)]));
  }

  @Post('later')
  @Idempotent()
  async later(): Promise<unknown> {
    runs += 1;
    await gate;
    if (thrown-- > 0) throw new ForbiddenException();
    return { run: runs };
  }

  @Post('observable')
  @Idempotent()
  observable(): Observable<unknown> {
    return of({ run: (runs += 1) }, { run: runs, last: true });
  }

  @Post('retried')
  @Idempotent()
  retried(): Observable<unknown> {
    runs += 1;
    return thrown-- > 0 ? throwError(() => new Error('again')) : of({ run: runs });
  }

  @Post('endless')
  @Idempotent({ leaseMs: 4_000 })
  endless(): StreamableFile {
    runs += 1;
    const source = new Readable({ read: () => undefined });
    source.push('begun');
    return new StreamableFile(source);
  }

  @Post('never')
  @Idempotent({ leaseMs: 4_000 })
  never(): Observable<unknown> {
    return concat(of({ run: (runs += 1) }), NEVER);
  }

  @Post('forbidden')
  @Idempotent()
  forbidden(): never {
    throw new ForbiddenException({ run: (runs += 1) });
  }

  @Post('final')
  @Idempotent({ delivery: 'at-most-once' })
  final(): never {
    throw new ForbiddenException({ run: (runs += 1) });
  }
}

/** Interceptor outside: hides fields, adds headers, gives up, retries, as the request asks. */
class Outside implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { headers } = http.getRequest<{ headers: Record<string, string | undefined> }>();
    const response = http.getResponse<AnyResponse>();
    const hide = (value: unknown): unknown => {
      response.header('x-after', String(runs));
      if (typeof value !== 'object' || value === null) return value;
      return value instanceof StreamableFile ? value : { ...value, password: undefined };
    };
    const retrying = headers['x-retry'] === undefined ? next.handle() : again(next);
    const given = headers['x-timeout'] === undefined ? retrying : race(retrying, tooLate(Number(headers['x-timeout'])));
    return given.pipe(map(hide));
  }
}

/** Fails so long after the handler has begun: before that it would be the claim that is too late, and nothing would run. */
const tooLate = (ms: number): Observable<never> =>
  defer(async (): Promise<never> => {
    await eventually(() => expect(runs).toBe(1));
    await sleep(ms);
    throw new Error('too late');
  });

const again = (next: CallHandler): Observable<unknown> => next.handle().pipe(catchError(() => again(next)));

describe.each(platforms)('what is stored of a response on %s', (_name, adapter) => {
  let http: HttpApp;
  let key: string;
  let keys = 0;
  const seen: unknown[] = [];
  const listen = (event: unknown): void => void seen.push((event as { reason: string }).reason);

  beforeAll(async () => {
    subscribe(OnceEvents.resultDropped, listen);
    const interceptors = [new Outside()];
    http = await openHttp({ adapter: adapter(), client: standaloneClient(), controllers: [Routes], interceptors });
  });
  beforeEach(() => {
    key = `key-${(keys += 1)}`;
    runs = 0;
    thrown = 0;
    gate = undefined;
    seen.length = 0;
  });
  afterAll(async () => {
    unsubscribe(OnceEvents.resultDropped, listen);
    await http.close();
  });

  it('is what interceptors outside have made: hidden fields stay hidden, and late headers are stored', async () => {
    const first = await http.post('/user', key);
    const again = await http.post('/user', key);
    expect(first).toMatchObject({ body: '{"id":1}', replayed: null });
    expect(again).toMatchObject({ status: 201, body: '{"id":1}', replayed: 'true' });
    expect(again.headers.get('x-after')).toBe('1');
    expect(runs).toBe(1);
  });

  it.each([
    ['/by-hand', 202, 'text/csv'],
    ['/bytes', 201, 'image/png'],
    ['/observable', 201, 'application/json; charset=utf-8'],
  ])('is the response that %s has sent, also by itself or in a filter', async (path, status, type) => {
    const first = await http.post(path, key);
    const again = await http.post(path, key);
    expect(again.status).toBe(status);
    expect(again.headers.get('content-type')).toContain(type);
    for (const name of ['content-type', 'content-length']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
    expect([again.body, again.replayed, runs]).toEqual([first.body, 'true', 1]);
  });

  it.each([
    ['list', 201, { 'content-type': 'text/plain', 'x-list': 'yes', 'x-run': '1' }, 'zz'],
    ['object', 202, { 'content-type': 'text/csv', 'x-object': 'yes', 'x-run': '1' }, 'run,1'],
  ])('is what a handler wrote past the framework, with a head that is a %s', async (way, status, headers, body) => {
    for (const replayed of [null, 'true']) {
      const answer = await http.post(`/raw/${way}`, key);
      expect(answer).toMatchObject({ status, body, replayed });
      for (const [name, text] of Object.entries(headers))
        expect([name, answer.headers.get(name)]).toEqual([name, text]);
    }
    expect(runs).toBe(1);
  });

  it('is nothing if the handler wrote it in pieces', async () => {
    expect(await http.post('/raw/pieces', key)).toMatchObject({ body: 'one, two', replayed: null });
    await eventually(async () => expect((await http.post('/raw/pieces', key)).body).toContain('RESPONSE_NOT_KEPT'));
    expect(runs).toBe(1);
  });

  it('is in Redis before the client gets the response', async () => {
    for (let i = 0; i < 50; i++) {
      await http.post('/user', `${key}-${i}`);
      expect((await http.post('/user', `${key}-${i}`)).replayed).toBe('true');
    }
  });

  it('is in Redis even if the client has left before the handler replied', async () => {
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const leaving = new AbortController();
    const first = http.post('/later', key, {}, leaving.signal).catch(() => 'left');
    await eventually(() => expect(runs).toBe(1));
    leaving.abort();
    expect(await first).toBe('left');
    open();
    const again = await eventually(async () => {
      const answer = await http.post('/later', key);
      expect(answer.status).toBe(201);
      return answer;
    });
    expect(again).toMatchObject({ body: '{"run":1}', replayed: 'true' });
    expect(runs).toBe(1);
  });

  it.each([
    ['done', 0],
    ['free', 1],
  ])('is nothing where a timeout has answered: the claim waits for the handler, then is %s', async (then, fails) => {
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    thrown = fails;
    expect((await http.post('/later', key, { 'x-timeout': '20' })).status).toBe(500);
    const during = await http.post('/later', key);
    expect([during.status, during.headers.has('retry-after')]).toEqual([409, true]);
    open();
    if (then === 'free') {
      await eventually(async () => expect((await http.post('/later', key)).status).toBe(201));
      expect(runs).toBe(2);
    } else {
      await eventually(async () => expect((await http.post('/later', key)).body).toContain('RESPONSE_NOT_KEPT'));
      expect([runs, seen]).toEqual([1, ['abandoned']]);
    }
  });

  it('is the response of the last run if an interceptor outside runs the handler again', async () => {
    thrown = 2;
    expect(await http.post('/retried', key, { 'x-retry': '1' })).toMatchObject({ status: 201, body: '{"run":3}' });
    expect(await http.post('/retried', key)).toMatchObject({ status: 201, body: '{"run":3}', replayed: 'true' });
  });

  it('is nothing of a stream: its key is in progress until the stream ends, and done when its client has left', async () => {
    const leaving = new AbortController();
    const init = { method: 'POST', headers: { 'x-user': 'ann', 'idempotency-key': key }, signal: leaving.signal };
    const response = await fetch(`${http.url}/endless`, init);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('begun');
    expect((await http.post('/endless', key)).status).toBe(409);
    leaving.abort();
    await eventually(async () => expect((await http.post('/endless', key)).body).toContain('RESPONSE_NOT_KEPT'));
    expect([runs, seen]).toEqual([1, ['streamed']]);
  });

  it('is nothing if the client left a response that never ends', async () => {
    const leaving = new AbortController();
    const first = http.post('/never', key, {}, leaving.signal).catch(() => 'left');
    await eventually(() => expect(runs).toBe(1));
    leaving.abort();
    expect(await first).toBe('left');
    await eventually(async () => expect((await http.post('/never', key)).body).toContain('RESPONSE_NOT_KEPT'));
    expect(runs).toBe(1);
  });

  it('is nothing of a thrown error, 4xx or 5xx: the key is free, or stays used with at-most-once', async () => {
    expect(await http.post('/forbidden', key)).toMatchObject({ status: 403, body: '{"run":1}' });
    expect(await http.post('/forbidden', key)).toMatchObject({ status: 403, body: '{"run":2}', replayed: null });
    key += '-final';
    expect(await http.post('/final', key)).toMatchObject({ status: 403, body: '{"run":3}' });
    expect(await http.post('/final', key)).toMatchObject({
      status: 409,
      body: expect.stringContaining('RESPONSE_NOT_KEPT'),
    });
  });
});
