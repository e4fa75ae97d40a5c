import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { Body, Controller, Post, UseInterceptors } from '@nestjs/common';
import { AnyFilesInterceptor, ExpressAdapter, FileFieldsInterceptor, FileInterceptor } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent, type IdempotencyRouteOptions } from 'luanest/once';
import { standaloneClient } from '../../script-registry/test/support';
import { canonical } from '../src/idempotency/canonical';
import { openHttp, type HttpApp } from './http-support';

let runs = 0;
const ownText = (request: unknown): string =>
  String((request as { headers: Record<string, string> }).headers['x-digest']);

function routes(options?: IdempotencyRouteOptions) {
  @Controller()
  class Routes {
    @Post('any')
    @Idempotent(options)
    any(@Body() body: unknown): unknown {
      return { run: (runs += 1), keys: Object.keys(body ?? {}) };
    }

    @Post('own')
    @Idempotent({ fingerprint: ownText })
    own(): unknown {
      return { run: (runs += 1) };
    }

    @Post('own-later')
    @Idempotent({ fingerprint: async (request) => Promise.resolve(ownText(request)) })
    ownLater(): unknown {
      return { run: (runs += 1) };
    }
  }
  return Routes;
}

@Controller('upload')
class Uploads {
  @Post('one')
  @Idempotent()
  @UseInterceptors(FileInterceptor('a'))
  one(): unknown {
    return { run: (runs += 1) };
  }

  @Post('any')
  @Idempotent()
  @UseInterceptors(AnyFilesInterceptor())
  any(): unknown {
    return { run: (runs += 1) };
  }

  @Post('by-field')
  @Idempotent()
  @UseInterceptors(FileFieldsInterceptor([{ name: 'a' }]))
  byField(): unknown {
    return { run: (runs += 1) };
  }

  @Post('too-early')
  @UseInterceptors(FileInterceptor('a'))
  @Idempotent()
  tooEarly(): unknown {
    return { run: (runs += 1) };
  }
}

beforeEach(() => {
  runs = 0;
});

describe('the content of a repeat', () => {
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const form = (text: string): FormData => {
    const data = new FormData();
    data.append('text', text);
    data.append('file', new Blob([text]), 'a.txt');
    return data;
  };

  it.each<[string, unknown, unknown]>([
    ['JSON in another order of keys', { a: 1, b: { c: 2, d: [3] } }, { b: { d: [3], c: 2 }, a: 1 }],
    ['bytes', Buffer.from('a'), new Uint8Array([97])],
    ['a form', form('a'), form('a')],
  ])('is the same for %s', async (_name, a, b) => {
    expect(await canonical(a)).toBe(await canonical(b));
  });

  it.each<[string, unknown, unknown]>([
    ['arrays in another order', [1, 2], [2, 1]],
    ['a number and its text', { a: 1 }, { a: '1' }],
    ['a BigInt and a number', { a: 1n }, { a: 1 }],
    ['forms of one text', form('a'), form('b')],
    ['Maps', new Map([['a', 1]]), new Map([['a', 2]])],
    ['parameters', new URLSearchParams('a=1'), new URLSearchParams('a=2')],
    ['ArrayBuffers', new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ['dates', new Date(1), new Date(2)],
    ['lone surrogates', { a: '\ud800' }, { a: '\ud801' }],
    ['keys and values', { 'a":1,"b': 2 }, { a: 1, b: 2 }],
  ])('differs for %s', async (_name, a, b) => {
    expect(await canonical(a)).not.toBe(await canonical(b));
  });

  it.each([circular, { a: Readable.from([]) }, { a: () => 1 }, { a: new WeakMap() }, { a: Symbol('s') }])(
    'is unknown for %p',
    (value) => {
      expect(() => canonical(value)).toThrow();
    },
  );
});

describe('content of a request on Express', () => {
  let http: HttpApp;
  const opened: HttpApp[] = [];
  const open = async (...middlewares: unknown[]): Promise<void> => {
    const controllers = [routes(), Uploads];
    http = await openHttp({ adapter: new ExpressAdapter(), client: standaloneClient(), controllers, middlewares });
    opened.push(http);
  };
  afterAll(async () => {
    for (const app of opened) await app.close();
  });
  const post = (key: string, body: string | FormData, headers: Record<string, string> = {}, path = '/any') =>
    fetch(`${http.url}${path}`, {
      method: 'POST',
      headers: { 'x-user': 'ann', 'idempotency-key': key, ...headers },
      body,
    });
  const file = (content: string, field = 'a'): FormData => {
    const data = new FormData();
    data.append(field, new Blob([content]), 'contract.txt');
    return data;
  };
  const json = { 'content-type': 'application/json' };

  it('is JSON by its values, whatever the order of keys', async () => {
    await open();
    expect((await post('k1', '{"a":1,"b":2}', json)).status).toBe(201);
    const again = await post('k1', '{"b":2,"a":1}', json);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect((await post('k1', '{"b":2,"a":2}', json)).status).toBe(422);
  });

  it('that no parser has read is refused, with problem details that name the reason', async () => {
    const refused = await post('k2', 'anything', { 'content-type': 'application/weird' });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      415,
      expect.stringContaining('application/problem+json'),
    ]);
    expect(await refused.json()).toMatchObject({ status: 415, code: 'BODY_NOT_COMPARABLE', title: expect.any(String) });
    expect((await post('k3', file('a'))).status).toBe(415);
    expect(runs).toBe(0);
  });

  it.each(['/own', '/own-later'])('is compared by the fingerprint of the route %s', async (path) => {
    const send = (content: string) => post(`k${path}`, file(content), { 'x-digest': content }, path);
    expect((await send('v1')).status).toBe(201);
    expect((await send('v1')).headers.get('idempotency-replayed')).toBe('true');
    expect((await send('v2')).status).toBe(422);
  });

  it.each(['one', 'any', 'by-field'])('includes the files of multer: %s', async (path) => {
    const send = (content: string) => post(`multer-${path}`, file(content), {}, `/upload/${path}`);
    expect((await send('contract v1')).status).toBe(201);
    expect((await send('contract v1')).headers.get('idempotency-replayed')).toBe('true');
    expect((await send('ANOTHER FILE')).status).toBe(422);
    expect(runs).toBe(1);
  });

  it('that an interceptor inside would read is refused', async () => {
    expect((await post('too-early', file('contract v1'), {}, '/upload/too-early')).status).toBe(415);
    expect(runs).toBe(0);
  });

  it('with a file that is not in memory is refused', async () => {
    await open((request: IncomingMessage, _response: unknown, next: () => void) => {
      request.resume().on('end', () => {
        Object.assign(request, { body: {}, file: { fieldname: 'a', originalname: 'b', path: '/tmp/1', size: 1 } });
        next();
      });
    });
    expect((await post('disk', file('a'))).status).toBe(415);
  });
});

describe('content of a request on Fastify', () => {
  let http: HttpApp;
  let made: unknown;

  beforeAll(async () => {
    const adapter = new FastifyAdapter();
    adapter.getInstance().addContentTypeParser('application/made', (_request, payload, done) => {
      payload.resume().on('end', () => done(null, made));
    });
    adapter
      .getInstance()
      .addContentTypeParser('application/streamed', (_request, payload, done) => done(null, payload));
    http = await openHttp({ adapter, client: standaloneClient(), controllers: [routes()] });
  });
  afterAll(() => http.close());
  const post = (key: string, type = 'application/made') =>
    fetch(`${http.url}/any`, {
      method: 'POST',
      headers: { 'x-user': 'ann', 'idempotency-key': key, 'content-type': type },
      body: 'x',
    });

  it('can have values that JSON cannot represent', async () => {
    made = { a: 1n, file: Buffer.from('v1') };
    expect((await post('k1')).status).toBe(201);
    expect((await post('k1')).headers.get('idempotency-replayed')).toBe('true');
    made = { a: 1n, file: Buffer.from('v2') };
    expect((await post('k1')).status).toBe(422);
  });

  it('that is circular or a stream is refused, not with a status of 500', async () => {
    const part: Record<string, unknown> = { filename: 'a.txt' };
    part['fields'] = { file: part };
    made = { file: part };
    expect((await post('k2')).status).toBe(415);
    expect((await post('k3', 'application/streamed')).status).toBe(415);
  });
});
