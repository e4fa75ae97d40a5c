import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Body, Controller, HttpCode, Post, Redirect, Res } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent } from 'luanest/once';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, type HttpApp } from './http-support';

let runs = 0;

interface AnyResponse {
  header(name: string, value: string): AnyResponse;
  status(code: number): AnyResponse;
  send(body: unknown): unknown;
}

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
  @Idempotent({ maxStoredBytes: 4_000_000 })
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
    http = await openHttp({ adapter, client: standaloneClient(), controllers: [Routes] });
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
