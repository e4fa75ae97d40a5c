import type { AddressInfo, Server } from 'node:net';
import { Controller, Module, UseGuards, type INestApplication } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import type { Redis } from 'ioredis';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standalone } from './support';

const two = { limit: 2, windowMs: 60_000 };

@Resolver()
class CatsResolver {
  @RateLimit(two)
  @UseGuards(RateLimitGuard)
  @Query(() => String)
  cat(): string {
    return 'Tom';
  }

  @RateLimit({ name: 'failing', ...two, count: 'successes' })
  @UseGuards(RateLimitGuard)
  @Query(() => String)
  lost(): string {
    throw new Error('lost');
  }
}

@WebSocketGateway()
class CatsGateway {
  @RateLimit(two)
  @UseGuards(RateLimitGuard)
  @SubscribeMessage('meow')
  meow(): object {
    return { event: 'meow', data: 'ok' };
  }
}

@Controller()
class CatsHandler {
  @RateLimit(two)
  @UseGuards(RateLimitGuard)
  @MessagePattern({ cmd: 'purr' })
  purr(): string {
    return 'ok';
  }

  @RateLimit({ name: 'by-outcome', ...two, count: 'failures' })
  @UseGuards(RateLimitGuard)
  @MessagePattern('hiss')
  hiss(): string {
    return 'ok';
  }
}

let app: INestApplication;
let client: Redis;

async function build(imports: object[], parts: { providers?: never[]; controllers?: never[] }): Promise<void> {
  client = standalone();
  @Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
      RateLimitModule.forRoot({ deadlineMs: 10_000 }),
      ...(imports as never[]),
    ],
    ...parts,
  })
  class AppModule {}
  const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
  app = testing.createNestApplication(new FastifyAdapter() as never, { logger: false });
}

afterEach(async () => {
  await app.close();
  client.disconnect();
});

it('a GraphQL resolver limits each field separately, with headers and an error with the reason', async () => {
  const graphql = GraphQLModule.forRoot<MercuriusDriverConfig>({
    driver: MercuriusDriver,
    autoSchemaFile: true,
    // Its cache is loaded in a way that Jest does not know.
    cache: false,
    context: (request: object, reply: object) => ({ request, reply }),
  });
  await build([graphql], { providers: [CatsResolver as never] });
  await app.listen(0, '127.0.0.1');
  const ask = async (
    query: string,
  ): Promise<[Response, { data?: { cat?: string }; errors?: { message: string; extensions?: object }[] }]> => {
    const response = await fetch(`${await app.getUrl()}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return [response, (await response.json()) as never];
  };
  const [first, body] = await ask('{ cat }');
  expect(body.data).toEqual({ cat: 'Tom' });
  expect(first.headers.get('ratelimit')).toMatch(/"graphql Query\.cat";r=1;t=60/);
  await ask('{ cat }');
  const [, refused] = await ask('{ cat }');
  expect(refused.errors?.[0]?.message).toMatch(/Too Many Requests/);
  expect(refused.errors?.[0]?.extensions).toEqual({
    ...{ code: 'RATE_LIMITED', status: 429, violatedPolicies: ['graphql Query.cat'] },
    retryAfterMs: expect.any(Number) as unknown,
  });
  for (let i = 0; i < 3; i++) {
    await eventually(async () => {
      const { rules } = await app.get(RateLimitService).peek({ name: 'failing', ...two }, '127.0.0.1');
      expect(rules[0]?.used).toBe(0);
    });
    expect((await ask('{ lost }'))[1].errors?.[0]?.message).toMatch(/lost/);
  }
});

it('a WebSocket gateway sends the reason to the client', async () => {
  await build([], { providers: [CatsGateway as never] });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  const socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
  const answers: { event: string; data: unknown }[] = [];
  socket.on('message', (text: Buffer) => answers.push(JSON.parse(text.toString()) as never));
  await new Promise((resolve) => socket.once('open', resolve));
  for (let i = 1; i <= 3; i++) {
    socket.send(JSON.stringify({ event: 'meow', data: 'x' }));
    await eventually(() => expect(answers).toHaveLength(i));
  }
  socket.close();
  expect(answers.map(({ event }) => event)).toEqual(['meow', 'meow', 'exception']);
  expect(JSON.stringify(answers[2])).toMatch(/violated-policies.*ws \/ meow/);
});

it('a message pattern sends problem details to the caller and counts by outcome', async () => {
  await build([], { controllers: [CatsHandler as never] });
  const options = { host: '127.0.0.1', port: 0 };
  const service = app.connectMicroservice({ transport: Transport.TCP, options });
  await app.init();
  await app.startAllMicroservices();
  const { port } = service.unwrap<Server>().address() as AddressInfo;
  const proxy: ClientProxy = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port },
  });
  try {
    const send = (pattern: unknown): Promise<unknown> => firstValueFrom(proxy.send<unknown>(pattern, {}));
    expect([await send({ cmd: 'purr' }), await send({ cmd: 'purr' })]).toEqual(['ok', 'ok']);
    await expect(send({ cmd: 'purr' })).rejects.toMatchObject({
      status: 429,
      'violated-policies': ['rpc [{"cmd":"purr"}]'],
    });
    for (let i = 0; i < 5; i++) {
      expect(await send('hiss')).toBe('ok');
      await eventually(async () => {
        const { rules } = await app.get(RateLimitService).peek({ name: 'by-outcome', ...two }, '127.0.0.1');
        expect(rules[0]?.used).toBe(0);
      });
    }
  } finally {
    await proxy.close();
  }
});

class Free {
  work(): void {
    // Never called.
  }
}

describe('an unknown kind of context', () => {
  const context = (): never =>
    ({
      getType: () => 'bot',
      getClass: () => CatsHandler,
      getHandler: () => Object.getOwnPropertyDescriptor(CatsHandler.prototype, 'purr')?.value as never,
      getArgByIndex: () => undefined,
    }) as never;

  async function guard(options: RateLimitModuleOptions): Promise<RateLimitGuard> {
    client = standalone();
    @Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        RateLimitModule.forRoot({ deadlineMs: 10_000, ...options }),
      ],
      providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
    })
    class AppModule {}
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication(new FastifyAdapter() as never, { logger: false });
    await app.init();
    return app.get(RateLimitGuard);
  }

  it('has one counter for all calls, or is denied, by onUnknownSubject', async () => {
    const counting = await guard({});
    expect([await counting.canActivate(context()), await counting.canActivate(context())]).toEqual([true, true]);
    await expect(Promise.resolve(counting.canActivate(context()))).rejects.toMatchObject({ status: 429 });
    await app.close();
    client.disconnect();
    expect(await (await guard({ onUnknownSubject: 'deny' })).canActivate(context())).toBe(false);
  });

  it.each(['stream', 'delayed-task', 'cron'])(
    'rules of the module do not apply to work of the app itself (%s)',
    async (kind) => {
      const rules = [{ name: 'all', limit: 1, windowMs: 60_000 }];
      const guarding = await guard({ rules, onUnknownSubject: 'deny' });
      const work = Object.getOwnPropertyDescriptor(Free.prototype, 'work')?.value as never;
      const call = {
        ...(context() as object),
        getType: () => kind,
        getClass: () => Free,
        getHandler: () => work,
      } as never;
      expect(await guarding.canActivate(call)).toBe(true);
    },
  );

  it('can have an adapter', async () => {
    const bot = {
      address: () => 'the clock',
      refusal: () => new Error('too often'),
      call: () => undefined,
    };
    const guarded = await guard({ contexts: { bot } });
    expect(await guarded.canActivate(context())).toBe(true);
    expect(await guarded.canActivate(context())).toBe(true);
    await expect(Promise.resolve(guarded.canActivate(context()))).rejects.toThrow('too often');
  });
});
