// Compiled by `npm run check`, never run: each client is accepted with its own types.
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { createClient, createCluster, createSentinel } from 'redis';
import * as nodeRedis5 from 'redis5';
import type { RedisConnection, ScriptRegistryModuleOptions } from 'luanest/script-registry';

const sentinels = { name: 'main', sentinelRootNodes: [] };

export const accepted: ScriptRegistryModuleOptions['client'][] = [
  new Redis(),
  new Cluster([]),
  new Redis5(),
  new Cluster5([]),
  new Valkey(),
  new ValkeyCluster([]),
  createClient(),
  createClient({ RESP: 2 }),
  createCluster({ rootNodes: [] }),
  createSentinel(sentinels),
  nodeRedis5.createClient(),
  nodeRedis5.createCluster({ rootNodes: [] }),
  nodeRedis5.createSentinel(sentinels),
  {} as RedisConnection,
];

// @ts-expect-error -- a URL goes into the option `url`
export const refused: ScriptRegistryModuleOptions['client'] = 'redis://127.0.0.1';
