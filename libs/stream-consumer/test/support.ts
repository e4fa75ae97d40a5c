import { once } from 'node:events';
import { ConsoleLogger, Logger, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Cluster, Redis } from 'ioredis';
import { ScriptRegistryModule, type ScriptRegistry, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import {
  defineStream,
  StreamConsumerModule,
  StreamConsumerService,
  type StreamConsumerModuleOptions,
  type StreamDefinition,
} from 'luanest/stream-consumer';
import { watch } from '../../../test/support/idle-checks';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { Maintenance } from '../src/consumer/maintenance';
import { resolveOptions, type AnyConsumerOptions } from '../src/stream-consumer.options';
import { streamConsumerScripts } from '../src/stream-consumer.scripts';
import { Partition, type GroupKeys } from '../src/streams/partitions';
import { StreamCatalog } from '../src/streams/stream-catalog';

export { quiet } from '../../script-registry/test/support';

/** Attempts fail on purpose in these tests, so they are not logged. */
Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

/** The two kinds of server that the contracts are tested on. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

/** Options for short tests. The lease is long, so that it does not end on a slow machine. */
export const QUICK = { backoff: { delayMs: 10, maxDelayMs: 20 }, leaseMs: 10_000 };

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly streams: StreamConsumerService;
  /** The client as one of a standalone server: its commands take one key each, so they do on a Cluster too. */
  readonly raw: Redis;
  keys(stream: string, group: string, partition?: number): GroupKeys;
  close(): Promise<void>;
}

/** Settings of `openBench` that are not options of the module. */
interface Hidden {
  /** All groups are checked that often, ms; Infinity: never, not even as often as by default. */
  readonly watchEveryMs?: number;
  readonly stalledAfterMs?: number;
  /** Partitions of a stream that does not set its own. */
  readonly partitions?: number;
}

/** Registries whose groups are never checked. */
const unchecked = new WeakSet<object>();
const maintenance = Maintenance.prototype as unknown as { readonly registry: object; check: () => Promise<void> };
const { check } = maintenance;
maintenance.check = function (this: typeof maintenance) {
  return unchecked.has(this.registry) ? Promise.resolve() : check.call(this);
};

/** Makes the service on a client, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  { watchEveryMs, stalledAfterMs = 60_000, partitions, ...options }: StreamConsumerModuleOptions & Hidden = {},
  registryOptions: ScriptRegistryModuleOptions = {},
): Promise<Bench> {
  if (client.status !== 'ready') await once(client, 'ready');
  const prefix = registryOptions.prefix ?? uniquePrefix();
  const registry = await openRegistry(
    client,
    { preload: 'required', ...registryOptions, prefix },
    streamConsumerScripts,
  );
  const streams = new StreamConsumerService(
    registry,
    { ...resolveOptions({ ...QUICK, ...options }), stalledAfterMs },
    new StreamCatalog(registry, partitions),
  );
  const isWatched = watchEveryMs !== undefined && watchEveryMs < Infinity;
  if (watchEveryMs === Infinity) unchecked.add(registry);
  const stopWatching = isWatched ? watch(registry, watchEveryMs) : undefined;
  return {
    prefix,
    registry,
    streams,
    raw: client as Redis,
    keys: (stream, group, partition = 0) =>
      new Partition(registry.keySpace('stream-consumer'), stream, partition).of(group),
    async close() {
      stopWatching?.();
      await streams.beforeApplicationShutdown();
      registry.close();
      client.disconnect();
    },
  };
}

/** Makes a stream known under its options, as the first call with its definition does. */
export function define(streams: StreamConsumerService, options: StreamDefinition): void {
  streams['catalog'].get(defineStream(options));
}

/** Options of a consumer of a stream and a group. */
export function group(
  stream: string,
  name: string,
  more: Omit<Partial<AnyConsumerOptions>, 'stream' | 'batch'> = {},
): Omit<AnyConsumerOptions, 'batch'> & { readonly stream: string } {
  return { group: name, ...more, stream };
}

const booted = new Set<{ readonly app: TestingModule; readonly client: Redis | Cluster }>();

/** Boots an app. `closeAll` closes it. */
export async function boot(
  metadata: ModuleMetadata,
  options: StreamConsumerModuleOptions = {},
  registryOptions: ScriptRegistryModuleOptions = {},
): Promise<TestingModule> {
  const client = (registryOptions.client as Redis | undefined) ?? standaloneClient();
  const imports = [
    ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix(), ...registryOptions }),
    StreamConsumerModule.forRoot({ ...QUICK, ...options }),
    ...(metadata.imports ?? []),
  ];
  const building = Test.createTestingModule({ ...metadata, imports });
  const app = await building
    .setLogger(new ConsoleLogger({ logLevels: [] }))
    .compile()
    .catch((error: unknown) => {
      client.disconnect();
      throw error;
    });
  booted.add({ app, client });
  await app.init();
  return app;
}

export async function closeAll(): Promise<void> {
  const all = [...booted];
  booted.clear();
  await Promise.all(
    all.map(async ({ app, client }) => {
      await app.close();
      client.disconnect();
    }),
  );
}
