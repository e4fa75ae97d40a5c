import { Controller, Get, Module, Param, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { connect } from 'node:net';
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

class App {}
Module({ controllers: [Echo] })(App);

async function serve(...options: Parameters<typeof fastifyOptions>): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter(fastifyOptions(...options));
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
