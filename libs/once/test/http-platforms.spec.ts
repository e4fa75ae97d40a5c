import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import {
  Body,
  Catch,
  Controller,
  Head,
  HttpCode,
  Post,
  Redirect,
  Res,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent } from 'luanest/once';
import { map, type Observable } from 'rxjs';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms, type HttpApp } from './http-support';

let runs = 0;

interface AnyResponse {
  header(name: string, value: string): AnyResponse;
  status(code: number): AnyResponse;
  send(body: unknown): unknown;
}

const ONCE = { maxResultBytes: 4_000_000 };

@Controller()
class Routes {
  @Post('json')
  @Idempotent()
  json(@Body() body: unknown): unknown {
    return { run: (runs += 1), body };
  }

  @Post('text')
  @Idempotent()
  text(): string {
    return `run ${(runs += 1)}`;
  }

  @Post('nothing')
  @Idempotent()
  @HttpCode(204)
  nothing(): void {
    runs += 1;
  }

  @Post('elsewhere')
  @Idempotent()
  @Redirect('/there', 303)
  elsewhere(): void {
    runs += 1;
  }

  @Post('large')
  @Idempotent()
  large(): unknown {
    return { run: (runs += 1), text: 'x'.repeat(1_000_000) };
  }

  @Post('by-hand')
  @Idempotent()
  byHand(@Res() response: AnyResponse): void {
    response
      .status(202)
      .header('x-run', String((runs += 1)))
      .header('content-type', 'application/octet-stream')
      .send(Buffer.from([0xff, runs]));
  }
}

const paths = ['/json', '/text', '/nothing', '/elsewhere', '/by-hand', '/large'];

beforeEach(() => {
  runs = 0;
});

describe('an idempotent route over HTTP/2', () => {
  let http: HttpApp;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    const adapter = new FastifyAdapter({ http2: true });
    http = await openHttp({ adapter, client: standaloneClient(), controllers: [Routes], once: ONCE });
    session = connect(http.url);
  });
  afterAll(async () => {
    session.close();
    await http.close();
  });

  async function post(path: string, key: string): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
      'idempotency-key': key,
      'x-user': 'ann',
    });
    stream.end('{"sku":1}');
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return { headers, body: Buffer.concat(chunks) };
  }

  it.each(paths)('%s: a repeat gets the first response', async (path) => {
    const first = await post(path, `h2${path}`);
    const again = await post(path, `h2${path}`);
    const kept = ({ headers }: typeof first): unknown[] =>
      [':status', 'content-type', 'location', 'x-run'].map((name) => headers[name]);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(kept(again)).toEqual(kept(first));
    expect(again.body.equals(first.body)).toBe(true);
    expect(runs).toBe(1);
  });
});

/** Saves a session before the response ends, as session middlewares do: `end` returns at once and sends later. */
function deferringEnd(_request: unknown, response: ServerResponse, next: () => void): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    response.setHeader('x-session', 'saved');
    return writeHead(...args);
  };
  response.end = ((...args: unknown[]) => {
    setTimeout(() => end(...args), 5);
    return response;
  }) as ServerResponse['end'];
  next();
}

describe('an idempotent route behind a middleware that ends responses later', () => {
  let http: HttpApp;

  beforeAll(async () => {
    http = await openHttp({
      adapter: new ExpressAdapter(),
      client: standaloneClient(),
      controllers: [Routes],
      once: ONCE,
      middlewares: [deferringEnd],
    });
  });
  afterAll(() => http.close());

  it.each(paths)('%s: a repeat gets the first response', async (path) => {
    const signal = AbortSignal.timeout(20_000);
    const first = await http.post(path, `late${path}`, {}, signal);
    const again = await http.post(path, `late${path}`, {}, signal);
    expect([first.replayed, again.replayed]).toEqual([null, 'true']);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-session')).toBe('saved');
    expect(runs).toBe(1);
  });
});

@Controller()
class Oddities {
  @Head('head')
  @Idempotent()
  head(): string {
    return `run ${(runs += 1)}`;
  }

  @Post('message')
  @Idempotent()
  message(@Res({ passthrough: true }) response: { raw?: ServerResponse }): string {
    const raw = response.raw ?? (response as ServerResponse);
    raw.statusMessage = 'Mine';
    return `run ${(runs += 1)}`;
  }

  @Post('list')
  @Idempotent()
  list(): unknown {
    runs += 1;
    return { items: [{ id: 1 }, { id: 2 }], count: 2 };
  }
}

interface List {
  readonly items: { readonly id: number }[];
  readonly count: number;
}

/** Reads into what the handler returns, as envelopes do. */
class Envelope implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<List>): Observable<unknown> {
    if (context.getHandler().name !== 'list') return next.handle();
    return next.handle().pipe(
      map((list) => {
        const ids = list.items.map(({ id }) => id);
        return { ...list, total: list.items.length + 1, ids, last: list.items.at(-1)?.id, text: `${list.count}` };
      }),
    );
  }
}

let caught: unknown[] = [];

@Catch()
class Errors implements ExceptionFilter {
  catch(error: unknown): void {
    caught.push(error);
  }
}

describe.each(platforms)('a replay on %s', (_name, adapter) => {
  let http: HttpApp;
  beforeAll(async () => {
    http = await openHttp({
      adapter: adapter(),
      client: standaloneClient(),
      controllers: [Oddities],
      interceptors: [new Envelope()],
      providers: [{ provide: APP_FILTER, useClass: Errors }],
    });
  });
  afterAll(() => http.close());

  it('has the content-length of the first response to HEAD', async () => {
    const head = () =>
      fetch(`${http.url}/head`, { method: 'HEAD', headers: { 'x-user': 'ann', 'idempotency-key': 'head' } });
    const [first, again] = [await head(), await head()];
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(first.headers.get('content-length')).toBe('5');
    expect(again.headers.get('content-length')).toBe('5');
  });

  it('has the status message of the first response', async () => {
    const send = () =>
      fetch(`${http.url}/message`, { method: 'POST', headers: { 'x-user': 'ann', 'idempotency-key': 'message' } });
    const [first, again] = [await send(), await send()];
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect([first.statusText, again.statusText]).toEqual(['Mine', 'Mine']);
  });

  it('does not throw in interceptors outside that read properties of the value', async () => {
    caught = [];
    const first = await http.post('/list', 'list');
    const again = await http.post('/list', 'list');
    expect(JSON.parse(first.body)).toMatchObject({ total: 3, ids: [1, 2], last: 2, text: '2' });
    expect(again).toMatchObject({ status: 201, body: first.body, replayed: 'true' });
    expect(caught).toEqual([]);
  });
});
