import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { Claim, ClaimAnswer } from 'luanest/once';
import type { ScriptRegistry, ScriptRegistryOptions } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { resolveOptions, type OnceOptions } from '../src/once.options';
import { onceScripts } from '../src/once.scripts';
import { OnceService } from '../src/once.service';
import { OnceStore } from '../src/once.store';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server that each contract is held against. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly store: OnceStore;
  readonly once: OnceService;
  /** The client as one of a standalone server: its commands take one key each, so they do on a Cluster too. */
  readonly raw: Redis;
  keyOf(id: string, name?: 'claim' | 'first'): string;
  /** Ends the lease of whoever holds the id, as the passing of its time would. */
  expire(id: string): Promise<void>;
  close(): void;
}

/** The service on a client of the test's own, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  { prefix = uniquePrefix(), ...options }: ScriptRegistryOptions = {},
  onceOptions: OnceOptions = {},
): Promise<Bench> {
  if (client.status !== 'ready') await once(client, 'ready');
  const registry = await openRegistry(client, { preload: 'required', ...options, prefix }, onceScripts);
  const store = new OnceStore(registry);
  const raw = client as Redis;
  const keyOf: Bench['keyOf'] = (id, name = 'claim') => registry.keySpace('once').tag(id).key(name);
  return {
    prefix,
    registry,
    store,
    once: new OnceService(store, resolveOptions(onceOptions)),
    raw,
    keyOf,
    async expire(id) {
      if ((await raw.exists(keyOf(id))) === 1) await raw.hset(keyOf(id), 'until', '1');
    },
    close() {
      registry.close();
      client.disconnect();
    },
  };
}

/** The claim of an answer that must be one. */
export function claimed(answer: ClaimAnswer): Claim {
  if (answer.status === 'claimed') return answer;
  throw new Error(`There is no claim in ${JSON.stringify(answer)}.`);
}
