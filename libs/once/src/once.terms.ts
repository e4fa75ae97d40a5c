import { shown } from 'luanest/script-registry';
import { checkInteger, refusedOption, type KnownOptions, type Refusal } from '../../internal/src';
import { isDelivery, isDuration, MAX_DURATION_MS } from './once.input';
import type { ClaimTerms, Delivery } from './once.types';

/** Terms of a claim with nothing left out. */
export type ResolvedTerms = Readonly<Required<ClaimTerms>>;

/** Names of the terms, for lists of known options. */
export const KNOWN_TERMS: KnownOptions<ClaimTerms> = {
  leaseMs: true,
  maxLeaseMs: true,
  retentionMs: true,
  delivery: true,
  replicas: true,
  replicasTimeoutMs: true,
};

/** Terms where nobody gives any. */
export const DEFAULT_TERMS: ResolvedTerms = Object.freeze({
  leaseMs: 30_000,
  maxLeaseMs: 3_600_000,
  retentionMs: 86_400_000,
  delivery: 'at-least-once',
  replicas: 0,
  replicasTimeoutMs: 1_000,
});

/** Longest wait for replicas, ms. */
const MAX_REPLICAS_TIMEOUT_MS = 3_600_000;

/**
 * Checks terms and fills in the defaults.
 *
 * @param prefix begins each name in messages, such as `idempotency.`
 * @param refuse makes the error of a value; default InvalidOptionError
 * @throws what `refuse` makes, naming the option, the value and what is allowed
 */
export function resolveTerms(
  prefix: string,
  terms: ClaimTerms,
  defaults: ResolvedTerms,
  refuse: Refusal = refusedOption,
): ResolvedTerms {
  const duration = (name: 'leaseMs' | 'maxLeaseMs' | 'retentionMs'): number => {
    const value = terms[name] ?? defaults[name];
    if (isDuration(value)) return value;
    throw refuse(`${prefix}${name} is ${shown(value)}. Give an integer of 1 to ${MAX_DURATION_MS} ms.`);
  };
  const integer = (name: 'replicas' | 'replicasTimeoutMs', min: number, max: number): number =>
    checkInteger(`${prefix}${name}`, terms[name] ?? defaults[name], min, max, refuse);
  const delivery: Delivery = terms.delivery ?? defaults.delivery;
  if (!isDelivery(delivery)) {
    throw refuse(`${prefix}delivery is ${shown(delivery)}. Give 'at-least-once' or 'at-most-once'.`);
  }
  return {
    leaseMs: duration('leaseMs'),
    maxLeaseMs: duration('maxLeaseMs'),
    retentionMs: duration('retentionMs'),
    delivery,
    replicas: integer('replicas', 0, 100),
    replicasTimeoutMs: integer('replicasTimeoutMs', 1, MAX_REPLICAS_TIMEOUT_MS),
  };
}
