import { Controller, Get, Module, Param, Post, Req, Sse } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { get } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type Observable, of } from 'rxjs';
import { compressJson } from '../../src/platform/compression';
import { fastifyOptions } from '../../src/platform/fastify-options';

@Controller()
class Echo {
  @Get('ids/:id')
  id(@Param('id') id: string): { readonly length: number } {
    return { length: [...id].length };
  }

  @Post('address')
  address(@Req() request: { readonly ip: string }): { readonly ip: string } {
    return { ip: request.ip };
  }
}

@Controller('long')
class Long {
  @Get('json')
  json(): object {
    return { text: 'packet '.repeat(1_000) };
  }

  @Get('short')
  short(): object {
    return { text: 'packet' };
  }

  @Sse('live')
  live(): Observable<object> {
    return of({ data: { text: 'packet '.repeat(1_000) } });
  }

  @Post('json')
  made(): object {
    return this.json();
  }

  @Get('failed')
  failed(): never {
    throw new Error('It failed.');
  }
}

class App {}
Module({ controllers: [Echo, Long] })(App);

async function serve(...options: Parameters<typeof fastifyOptions>): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter(fastifyOptions(...options));
  compressJson(adapter);
  const app = await NestFactory.create<NestFastifyApplication>(App, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  return app;
}

it('takes ids of 128 characters, also of such as take twelve in a path', async () => {
  const app = await serve({ trustProxy: undefined });
  try {
    for (const id of ['a'.repeat(128), '\u{1f9e7}'.repeat(128)]) {
      const answer = await fetch(`${await app.getUrl()}/ids/${encodeURIComponent(id)}`);
      expect([answer.status, await answer.json()]).toEqual([200, { length: 128 }]);
    }
  } finally {
    await app.close();
  }
});

it('ends a request whose body does not come', async () => {
  const app = await serve({ trustProxy: undefined }, [500, 400, 100]);
  try {
    const socket = connect(Number(new URL(await app.getUrl()).port), '127.0.0.1');
    const closed = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });
    socket.write(
      'POST /address HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a"',
    );
    expect(await closed).toMatch(/^(HTTP\/1.1 408|$)/);
  } finally {
    await app.close();
  }
}, 20_000);

it('believes X-Forwarded-For of the proxies that are named, and of nobody otherwise', async () => {
  for (const [trustProxy, ip] of [
    [undefined, '127.0.0.1'],
    [['127.0.0.1'], '10.9.8.7'],
    [['10.0.0.0/8'], '127.0.0.1'],
  ] as const) {
    const app = await serve({ trustProxy });
    try {
      const headers = { 'x-forwarded-for': '10.9.8.7' };
      const answer = await fetch(`${await app.getUrl()}/address`, { method: 'POST', headers });
      expect(await answer.json()).toEqual({ ip });
    } finally {
      await app.close();
    }
  }
});

it('lets no browser guess a type, also of errors and of server-sent events', async () => {
  const app = await serve({ trustProxy: undefined });
  try {
    for (const path of ['ids/a', 'nowhere', '%zz', 'long/failed', 'long/live', `ids/${'a'.repeat(9_000)}`]) {
      const answer = await fetch(`${await app.getUrl()}/${path}`);
      expect([path, answer.headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
      await answer.body?.cancel();
    }
    const large = await fetch(`${await app.getUrl()}/address`, { method: 'POST', body: 'a'.repeat(70_000) });
    expect(large.headers.get('x-content-type-options')).toBe('nosniff');
  } finally {
    await app.close();
  }
});

it('compresses long JSON for clients that want it, and no other response', async () => {
  const app = await serve({ trustProxy: undefined });
  const url = await app.getUrl();
  const ask = (path: string, accepted?: string): Promise<{ encoding?: string; length?: string; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
      get(`${url}/${path}`, { headers, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { 'content-encoding': encoding, 'content-length': length } = response.headers;
          resolve({ body: Buffer.concat(chunks), ...(encoding && { encoding }), ...(length && { length }) });
        });
      }).on('error', reject);
    });
  try {
    const plain = await ask('long/json');
    expect(plain.encoding).toBeUndefined();
    const zipped = await ask('long/json', 'br;q=1, gzip;q=0.5');
    expect(zipped).toMatchObject({ encoding: 'gzip', length: String(zipped.body.length) });
    expect(zipped.body.length).toBeLessThan(plain.body.length / 10);
    expect(gunzipSync(zipped.body)).toEqual(plain.body);
    for (const accepted of ['gzip;q=0', 'deflate', 'identity', 'gzip; q=0.000, br'])
      expect((await ask('long/json', accepted)).encoding).toBeUndefined();
    expect((await ask('long/short', 'gzip')).encoding).toBeUndefined();
    const live = await ask('long/live', 'gzip');
    expect(live.encoding).toBeUndefined();
    expect(live.body.toString()).toContain('data: {"text":"packet ');
    // An idempotent route may send this response again.
    const made = await fetch(`${url}/long/json`, { method: 'POST', headers: { 'accept-encoding': 'gzip' } });
    expect(made.headers.get('content-encoding')).toBeNull();
  } finally {
    await app.close();
  }
});
