import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { Claim } from 'luanest/once';
import type { ScriptRegistry, ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { resolveOptions, type OnceModuleOptions } from '../src/once.options';
import { onceScripts } from '../src/once.scripts';
import { OnceService } from '../src/once.service';
import { OnceStore } from '../src/once.store';
import type { ClaimResult, Mismatch } from '../src/once.types';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server on which each contract is checked. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

/** Parts of a stored claim. Lengths are in bytes, so its texts must be ASCII here. */
export interface Stored {
  readonly state: 'c' | 'd' | 'r';
  readonly delivery: 'l' | 'm';
  readonly fence: string;
  readonly until: string;
  readonly token: string;
  readonly renewal: string;
  readonly result: string;
}

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly store: OnceStore;
  readonly once: OnceService;
  /** The client as one of a standalone server: its commands take one key each, so they do on a Cluster too. */
  readonly raw: Redis;
  keyOf(id: string, name?: 'claim' | 'first'): string;
  /** The claim of an id; undefined if there is none. */
  stored(id: string): Promise<Stored | undefined>;
  /** Ends the lease of the owner of an id. */
  expire(id: string): Promise<void>;
  close(): void;
}

/** The service on a client of the test's own, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  { prefix = uniquePrefix(), ...options }: ScriptRegistryModuleOptions = {},
  onceOptions: OnceModuleOptions = {},
): Promise<Bench> {
  if (client.status !== 'ready') await once(client, 'ready');
  const registry = await openRegistry(client, { preload: 'required', ...options, prefix }, onceScripts);
  const store = new OnceStore(registry);
  const raw = client as Redis;
  const layout = /^([cdr])([lm])(\d{16})(\d{13})\d{12}(\d{4})(\d{4})(\d{4})(\d{4}):/;
  const keyOf: Bench['keyOf'] = (id, name = 'claim') => registry.keySpace('once').tag(id).key(name);
  return {
    prefix,
    registry,
    store,
    once: new OnceService(store, resolveOptions(onceOptions)),
    raw,
    keyOf,
    async stored(id) {
      const text = await raw.get(keyOf(id));
      if (text === null) return undefined;
      const parts = layout.exec(text);
      if (parts === null) throw new Error(`${text} is not a claim.`);
      const [head, state, delivery, fence = '', until = '', ...lengths] = parts;
      const [token = 0, released = 0, renewal = 0, fingerprint = 0] = lengths.map(Number);
      let at = head.length;
      const take = (length: number): string => text.slice(at, (at += length));
      const tokenText = take(token);
      take(released);
      const renewalText = take(renewal);
      take(fingerprint);
      const kinds = { state: state as Stored['state'], delivery: delivery as Stored['delivery'] };
      return { ...kinds, fence, until, token: tokenText, renewal: renewalText, result: text.slice(at) };
    },
    async expire(id) {
      const text = await raw.get(keyOf(id));
      if (text !== null)
        await raw.set(keyOf(id), `${text.slice(0, 18)}${'1'.padStart(13, '0')}${text.slice(31)}`, 'KEEPTTL');
    },
    close() {
      registry.close();
      client.disconnect();
    },
  };
}

/** The claim of an answer that must be one. */
export function claimed(answer: ClaimResult | Mismatch): Claim {
  if (answer.status === 'claimed') return answer;
  throw new Error(`There is no claim in ${JSON.stringify(answer)}.`);
}
