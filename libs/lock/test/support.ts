import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { ScriptRegistry, ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { LockService, type LockModuleOptions } from 'luanest/lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { resolveOptions } from '../src/lock.options';
import { lockScripts } from '../src/lock.scripts';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server that each contract test runs on. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

export interface Bench {
  readonly registry: ScriptRegistry;
  readonly locks: LockService;
  readonly raw: Redis;
  keyOf(name: string): string;
  close(): void;
}

/** A LockService on a client of the test's own, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  {
    pollMs,
    deadlineMs,
    ...options
  }: LockModuleOptions & { readonly pollMs?: number; readonly deadlineMs?: number } = {},
  registryOptions: ScriptRegistryModuleOptions = {},
): Promise<Bench> {
  if (client.status !== 'ready') await once(client, 'ready');
  const prefix = registryOptions.prefix ?? uniquePrefix();
  const registry = await openRegistry(client, { preload: 'required', ...registryOptions, prefix }, lockScripts);
  return {
    registry,
    locks: new LockService(registry, {
      ...resolveOptions(options),
      ...(pollMs !== undefined && { pollMs }),
      ...(deadlineMs !== undefined && { deadlineMs }),
    }),
    raw: client as Redis,
    keyOf: (name) => registry.keySpace('lock').tag(name).key('lock'),
    close() {
      registry.close();
      client.disconnect();
    },
  };
}
