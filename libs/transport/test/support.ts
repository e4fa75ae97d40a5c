import { once } from 'node:events';
import { ConsoleLogger, type INestApplication, type Provider, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Cluster, Redis } from 'ioredis';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService, type StreamConsumerModuleOptions } from 'luanest/stream-consumer';
import { StreamClient, StreamServer } from 'luanest/transport';
import { filter, firstValueFrom } from 'rxjs';
import { endsWithin } from '../../internal/src';
import { standaloneClient } from '../../script-registry/test/support';
import { QUICK } from '../../stream-consumer/test/support';

/** A service: an app with a StreamServer and a StreamClient. */
export interface Service {
  readonly app: INestApplication;
  readonly server: StreamServer;
  readonly streams: StreamConsumerService;
  readonly registry: ScriptRegistry;
  readonly client: StreamClient;
  readonly raw: Redis;
  readonly close: () => Promise<void>;
}

interface ServiceOptions {
  readonly prefix: string;
  readonly controllers?: Type[];
  readonly providers?: Provider[];
  /** Default `orders`. */
  readonly group?: string;
  readonly raw?: Redis | Cluster;
  /** Longest wait of a request, ms. Default 20,000, which no test waits for. */
  readonly requestMs?: number;
  readonly module?: StreamConsumerModuleOptions;
}

const open = new Set<Service>();

export async function openService(options: ServiceOptions): Promise<Service> {
  const { prefix, controllers = [], providers = [], group = 'orders', raw = standaloneClient() } = options;
  const { requestMs = 20_000, module } = options;
  if (raw.status !== 'ready') await once(raw, 'ready');
  const testing = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client: raw, prefix }),
      StreamConsumerModule.forRoot({ ...QUICK, ...module }),
    ],
    controllers,
    providers,
  })
    .setLogger(new ConsoleLogger({ logLevels: [] }))
    .compile();
  const app = testing.createNestApplication();
  const streams = app.get(StreamConsumerService);
  const server = new StreamServer({ streams, group });
  app.connectMicroservice({ strategy: server });
  await app.startAllMicroservices();
  await app.init();
  // Nest does not wait for the groups of the handlers, and one that begins later need not get what was sent before.
  await endsWithin(10_000, firstValueFrom(server.status.pipe(filter((status) => status === 'connected'))));
  const client = new StreamClient({ streams, timeoutMs: requestMs });
  const service: Service = {
    ...{ app, server, streams, client, registry: app.get(ScriptRegistry), raw: raw as Redis },
    async close() {
      if (!open.delete(service)) return;
      client.close();
      await app.close();
      raw.disconnect();
    },
  };
  open.add(service);
  return service;
}

export async function closeAll(): Promise<void> {
  await Promise.all([...open].map((service) => service.close()));
}
