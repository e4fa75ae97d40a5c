import { FakeRegistry } from '../../../test/support/fake-registry';
import { Claims } from '../src/once.claims';
import { OnceStore } from '../src/once.store';
import { DEFAULT_TERMS } from '../src/once.terms';

export const LOCATED = { id: 'a', key: 'p:once:{a}:claim', isRequest: false, fingerprint: '' };
export const WAITS = { replicas: 2, replicasTimeoutMs: 300 };

export function open(module = {}) {
  const registry = new FakeRegistry();
  const store = new OnceStore(registry.asRegistry);
  const claims = new Claims(store, { ...DEFAULT_TERMS, maxResultBytes: 40, ...module } as never);
  return { registry, store, claims };
}

/** Claims an id, with a reply of Redis. */
export function take(answer: unknown, { isRequest = false, freed = true, options = {}, module = {} } = {}) {
  const { registry, store, claims } = open(module);
  const full = claims.fill({ token: 't', ...options });
  const taken = claims.take({ ...LOCATED, isRequest }, full, freed);
  const reply = registry.last;
  if (answer instanceof Error) reply.reply.reject(answer);
  else reply.reply.resolve(answer);
  return { registry, store, claims, full, reply, taken };
}

export const claimed = { status: 'claimed', text: '12 34' };
