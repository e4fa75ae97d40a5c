import { Controller, Inject, Injectable, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientsModule,
  EventPattern,
  MessagePattern,
  Payload,
  type AsyncMicroserviceOptions,
  type ClientProxy,
} from '@nestjs/microservices';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { StreamClient, StreamServer } from 'luanest/transport';
import { lastValueFrom } from 'rxjs';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';
import { closeAll, openService } from './support';

Logger.overrideLogger(false);
afterEach(closeAll);

@Injectable()
class Asks {
  constructor(
    @Inject('SUMS') readonly byModule: ClientProxy,
    @Inject('MORE_SUMS') readonly byProvider: StreamClient,
  ) {}
}

@Controller()
class Sums {
  @MessagePattern('sum')
  sum(@Payload() [a, b]: [number, number]): number {
    return a + b;
  }
}

function moduleOf(raw: ReturnType<typeof standaloneClient>): new () => object {
  @Module({
    imports: [
      ScriptRegistryModule.forRoot({ client: raw, prefix: uniquePrefix() }),
      StreamConsumerModule.forRoot(),
      ClientsModule.registerAsync([
        {
          name: 'SUMS',
          inject: [StreamConsumerService],
          useFactory: (streams: StreamConsumerService) => ({ customClass: StreamClient, options: { streams } }),
        },
      ]),
    ],
    providers: [
      Asks,
      {
        provide: 'MORE_SUMS',
        inject: [StreamConsumerService],
        useFactory: (streams: StreamConsumerService) => new StreamClient({ streams }),
      },
    ],
    controllers: [Sums],
  })
  class AppModule {}
  return AppModule;
}

const ask = async ({ byModule, byProvider }: Asks): Promise<unknown[]> => [
  await lastValueFrom(byModule.send<unknown>('sum', [1, 2])),
  await lastValueFrom(byProvider.send<unknown>('sum', [3, 4])),
];

it('a microservice alone serves, and its clients are closed with it', async () => {
  const raw = standaloneClient();
  const app = await NestFactory.createMicroservice<AsyncMicroserviceOptions>(moduleOf(raw), {
    inject: [StreamConsumerService],
    useFactory: (streams: StreamConsumerService) => ({ strategy: new StreamServer({ streams, group: 'sums' }) }),
  });
  await app.listen();
  const asks = app.get(Asks);
  expect(await ask(asks)).toEqual([3, 7]);
  expect(app.unwrap()).toBe(app.get(StreamConsumerService));
  const statuses: string[] = [];
  for (const client of [asks.byModule, asks.byProvider]) client.status.subscribe((status) => statuses.push(status));
  await app.close();
  expect(statuses).toEqual(['connected', 'connected', 'disconnected', 'disconnected']);
  raw.disconnect();
});

it.each(['before', 'after'])('a hybrid app starts its microservices %s it is initialized', async (when) => {
  const raw = standaloneClient();
  const app = await NestFactory.create(moduleOf(raw), { logger: false });
  if (when === 'after') await app.init();
  app.connectMicroservice({ strategy: new StreamServer({ streams: app.get(StreamConsumerService), group: 'sums' }) });
  await app.startAllMicroservices();
  if (when === 'before') await app.init();
  expect(await ask(app.get(Asks))).toEqual([3, 7]);
  await app.close();
  raw.disconnect();
});

it('a start that fails is repeated', async () => {
  const prefix = uniquePrefix();
  const { streams, close } = await openService({ prefix });
  const server = new StreamServer({ streams, group: 'g' });
  const handle = jest.spyOn(streams, 'handle').mockRejectedValueOnce(new Error('away'));
  const got: unknown[] = [];
  server.addHandler('x', async (data) => Promise.resolve(got.push(data)), true);
  const connected = new Promise((resolve) => server.status.subscribe(resolve));
  server.listen(() => undefined);
  expect(await connected).toBe('connected');
  expect(handle).toHaveBeenCalledTimes(2);
  await server.close();
  await close();
});

it.each([
  ['StreamServer', () => new StreamServer({ streams: {} as never, group: 'g' }), /StreamServer: streams is an object/],
  ['StreamClient', () => new StreamClient({} as never), /StreamClient: streams is undefined/],
])('%s needs the StreamConsumerService', (_name, make, message) => {
  expect(make).toThrow(message);
});

it('options that cannot work are refused', async () => {
  const { streams } = await openService({ prefix: uniquePrefix() });
  expect(() => new StreamServer({ streams, group: 'a b' })).toThrow(/StreamServer: group is "a b"/);
  expect(() => new StreamServer({ streams, name: 'g' } as never)).toThrow(/There is no option "name"/);
  expect(() => new StreamClient({ streams, timeoutMs: 0 })).toThrow(/StreamClient: timeoutMs is 0/);
  expect(() => new StreamClient({ streams }).on()).toThrow(/status/);
  expect(() => new StreamServer({ streams, group: 'g' }).on()).toThrow(/status/);
});

it('a pattern with two handlers of which one would never run is refused', async () => {
  @Controller()
  class Both {
    @EventPattern<string>('x')
    one(): void {}
    @MessagePattern('x')
    two(): void {}
  }
  @Controller()
  class Twice {
    @MessagePattern('x')
    one(): void {}
    @MessagePattern('x')
    two(): void {}
  }
  for (const controller of [Both, Twice]) {
    await expect(openService({ prefix: uniquePrefix(), controllers: [controller] })).rejects.toThrow(/two handlers/);
  }
});
