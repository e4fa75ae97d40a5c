import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Module, Post, type INestApplication } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
  type RateLimitModuleOptions,
} from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { standalone } from './support';

const CLIENTS = 30;
const LIMIT = 3;

let asked = 0;
let ran = 0;

@Controller('sms')
class SmsController {
  @RateLimit({ limit: LIMIT, windowMs: 60_000 })
  @Post()
  send(): string {
    ran += 1;
    return 'sent';
  }

  @SkipRateLimit()
  @Post('after')
  after(): string {
    return 'ok';
  }
}

const request = (path: string, forwardedFor?: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: sms\r\nx-leaves: yes\r\ncontent-length: 0\r\n` +
  `${forwardedFor === undefined ? '' : `x-forwarded-for: ${forwardedFor}\r\n`}\r\n`;

interface RawRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: Socket;
}

/** An async middleware that ends after its client has gone, or for a client that stays after `waitMs`. */
const outlasting =
  (waitMs: number) =>
  ({ headers, socket }: RawRequest, _response: unknown, next: () => void): void => {
    if (headers['x-leaves'] === undefined) setTimeout(next, waitMs);
    else if (socket.destroyed) next();
    else socket.once('close', () => next());
  };

let app: INestApplication;
let client: Redis;

afterEach(async () => {
  await app.close();
  client.disconnect();
});

async function open(
  platform: string,
  trustProxy: unknown,
  waitMs: number,
  options?: RateLimitModuleOptions,
): Promise<void> {
  [asked, ran] = [0, 0];
  client = standalone();
  @Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
      RateLimitModule.forRoot({ deadlineMs: 10_000, ...options }),
    ],
    controllers: [SmsController],
    providers: [
      // Before the limit: counts what came as far as that.
      { provide: APP_GUARD, useValue: { canActivate: () => (asked += 1) > 0 } },
      { provide: APP_GUARD, useExisting: RateLimitGuard },
    ],
  })
  class AppModule {}
  const adapter =
    platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter({ trustProxy: trustProxy as boolean });
  app = (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication(adapter as never, {
    logger: false,
  });
  if (platform === 'Express') (adapter as ExpressAdapter).set('trust proxy', trustProxy);
  if (waitMs > 0) app.use(outlasting(waitMs));
  await app.listen(0, '127.0.0.1');
}

/** Sends requests whose clients are gone before they are answered, and waits until the app is done with all of them. */
async function hangUp(leave: (socket: Socket) => void, forwardedFor?: string): Promise<void> {
  const { port } = new URL(await app.getUrl());
  for (let i = 0; i < CLIENTS; i++) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(request('/sms', forwardedFor));
    leave(socket);
  }
  await eventually(() => expect(asked).toBe(CLIENTS));
  // What was decided before this request is decided.
  await sleep(20);
  expect((await fetch(`${await app.getUrl()}/sms/after`, { method: 'POST' })).status).toBe(201);
  await sleep(20);
}

const reset = (socket: Socket): void => void socket.resetAndDestroy();
const end = (socket: Socket): void => void socket.end(() => socket.destroy());

describe.each(['Express', 'Fastify'])('clients that hang up on %s', (platform) => {
  it.each<[string, unknown, number, (socket: Socket) => void, string | undefined]>([
    ['reset the connection', false, 0, reset, undefined],
    ['reset it behind a proxy', 'loopback', 0, reset, undefined],
    ['reset it and name an address', 1, 0, reset, '192.0.2.1'],
    ['reset it before an async middleware is done', false, 20, reset, undefined],
    ['leave before an async middleware is done', false, 20, end, undefined],
    ['leave behind a proxy before a middleware is done', 'loopback', 20, end, undefined],
  ])('and %s are counted', async (_how, trustProxy, waitMs, leave, forwardedFor) => {
    await open(platform, trustProxy, waitMs);
    await hangUp(leave, forwardedFor);
    // Those that Node accepts after the reset have no address, and a counter of their own.
    expect(ran).toBeLessThanOrEqual(leave === reset ? 2 * LIMIT : LIMIT);
  });

  it('before an async middleware is done count under their address, and have no second counter', async () => {
    await open(platform, false, 20);
    const send = async () => (await fetch(`${await app.getUrl()}/sms`, { method: 'POST' })).status;
    expect(await send()).toBe(201);
    asked = 0;
    await hangUp(end);
    expect(ran).toBe(LIMIT);
    expect(await send()).toBe(429);
  });
});

it('clients without an address are refused with onUnknownSubject: deny', async () => {
  await open('Express', false, 0, { onUnknownSubject: 'deny' });
  const folder = await mkdtemp(join(tmpdir(), 'luanest-'));
  const server = createServer(app.getHttpAdapter().getInstance() as RequestListener);
  await once(server.listen(join(folder, 'socket')), 'listening');
  const sent = httpRequest({ socketPath: join(folder, 'socket'), method: 'POST', path: '/sms' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect([response.statusCode, ran]).toEqual([403, 0]);
  response.resume();
  server.close();
  await rm(folder, { recursive: true });
});
