import { once as event } from 'node:events';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { Body, Controller, Post } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent } from 'luanest/once';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms, type HttpApp } from './http-support';

let runs = 0;

@Controller()
class Routes {
  @Post('small')
  @Idempotent()
  small(@Body() body: unknown): unknown {
    return { run: (runs += 1), body };
  }

  @Post('large')
  @Idempotent()
  large(): unknown {
    return { run: (runs += 1), text: '紅包'.repeat(50_000) };
  }
}

type Write = (chunk?: unknown) => boolean;
type End = (...args: unknown[]) => ServerResponse;
type Chunk = string | Uint8Array;

/** Calls `before` when the head is about to go out, with its headers in the response: as `on-headers` does. */
function onHead(response: ServerResponse, before: () => void): void {
  const writeHead: (status: number) => ServerResponse = response.writeHead.bind(response);
  response.writeHead = (status: number, ...rest: unknown[]) => {
    for (const [name, value] of Object.entries(rest.at(-1) ?? {})) response.setHeader(name, value as string);
    before();
    return writeHead(status);
  };
}

/** Compresses as `compression` does: `write` and `end` go through a stream, which writes and ends the response later. */
function compressing(_request: unknown, response: ServerResponse, next: () => void): void {
  const write = response.write.bind(response) as Write;
  const end = response.end.bind(response) as End;
  const gzip = createGzip();
  onHead(response, () => {
    response.setHeader('content-encoding', 'gzip');
    response.removeHeader('content-length');
  });
  response.write = ((chunk: Chunk) => {
    if (!response.headersSent) response.writeHead(response.statusCode);
    return gzip.write(chunk);
  }) as ServerResponse['write'];
  response.end = ((chunk?: Chunk) => {
    if (!response.headersSent) response.writeHead(response.statusCode);
    gzip.end(chunk);
    return response;
  }) as ServerResponse['end'];
  gzip.on('data', (piece) => write(piece));
  gzip.on('end', () => end());
  next();
}

/** Saves a session before the response ends, as `express-session` and `next-session` do. */
function withSession(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const end = response.end.bind(response) as End;
  onHead(response, () => response.setHeader('set-cookie', `sid=${request.headers['x-visit'] as string}`));
  response.end = ((...args: unknown[]) => {
    setTimeout(() => end(...args), 3);
    return response;
  }) as ServerResponse['end'];
  next();
}

interface Got {
  readonly headers: Record<string, unknown>;
  readonly text: string;
}

/** Sends a request by Node's own client, which decodes nothing. */
async function send(http: HttpApp, path: string, visit: string): Promise<Got> {
  const headers = {
    'x-user': 'ann',
    'idempotency-key': `k${path}`,
    'x-visit': visit,
    'content-type': 'application/json',
  };
  const sent = request(`${http.url}${path}`, { method: 'POST', headers, signal: AbortSignal.timeout(10_000) });
  sent.end('{"sku":1}');
  const [answer] = (await event(sent, 'response')) as [IncomingMessage];
  const body = await buffer(answer);
  const plain = answer.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  return { headers: answer.headers, text: plain.toString() };
}

beforeEach(() => {
  runs = 0;
});

describe.each(platforms)('on %s behind a middleware that compresses', (_name, adapter) => {
  describe.each([
    ['alone', [compressing]],
    ['and one that saves sessions outside', [withSession, compressing]],
    ['and one that saves sessions inside', [compressing, withSession]],
  ])('%s', (_which, middlewares) => {
    let http: HttpApp;
    beforeAll(async () => {
      const once = { maxResultBytes: 2_000_000 };
      const client = standaloneClient();
      http = await openHttp({ adapter: adapter(), client, controllers: [Routes], middlewares, once });
    });
    afterAll(() => http.close());

    it.each(['/small', '/large'])('%s: a repeat gets the first response', async (path) => {
      const [first, again] = [await send(http, path, 'one'), await send(http, path, 'two')];
      const kept = ({ headers, text }: Got): unknown[] => [headers['content-type'], headers['content-encoding'], text];
      expect(again.headers['idempotency-replayed']).toBe('true');
      expect(kept(again)).toEqual(kept(first));
      expect(JSON.parse(first.text)).toMatchObject({ run: 1 });
      expect(runs).toBe(1);
      if (middlewares.length > 1) expect(again.headers['set-cookie']).toEqual(['sid=two']);
    });
  });
});

it('over HTTP/2, with a hook that compresses into one piece, a repeat gets the compressed bytes', async () => {
  const adapter = new FastifyAdapter({ http2: true });
  adapter.getInstance().addHook('onSend', async (_request, reply, payload) => {
    if (typeof payload !== 'string') return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return gzipSync(payload);
  });
  const http = await openHttp({
    adapter,
    client: standaloneClient(),
    controllers: [Routes],
    once: { maxResultBytes: 2_000_000 },
  });
  const session = connect(http.url);
  const post = async (path: string): Promise<[unknown, unknown, Buffer]> => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'x-user': 'ann',
      'idempotency-key': `h2${path}`,
      'content-type': 'application/json',
    });
    stream.end('{"sku":1}');
    const [headers] = (await event(stream, 'response')) as [Record<string, unknown>];
    return [headers['idempotency-replayed'], headers['content-encoding'], await buffer(stream)];
  };
  for (const path of ['/small', '/large']) {
    runs = 0;
    const [first, again] = [await post(path), await post(path)];
    expect(again).toEqual(['true', 'gzip', first[2]]);
    expect(JSON.parse(gunzipSync(first[2]).toString())).toMatchObject({ run: 1 });
    expect(runs).toBe(1);
  }
  session.close();
  await http.close();
});

it('behind a compressing middleware on Express, a response that was not stored gives a repeat 409, and the handler runs once', async () => {
  @Controller()
  class Tight {
    @Post('large')
    @Idempotent()
    large(): string {
      runs += 1;
      return 'x'.repeat(100_000);
    }
  }
  const http = await openHttp({
    adapter: new ExpressAdapter(),
    client: standaloneClient(),
    controllers: [Tight],
    once: { maxResultBytes: 1_000 },
    middlewares: [compressing],
  });
  const [first, again] = [await send(http, '/large', 'one'), await send(http, '/large', 'two')];
  expect(first.text).toHaveLength(100_000);
  expect(JSON.parse(again.text)).toMatchObject({ code: 'RESPONSE_NOT_KEPT' });
  expect(runs).toBe(1);
  await http.close();
});
