import type { Checks, KnownOptions, ResolvedReplicas } from '../../internal/src';
import { MAX_DURATION_MS, MIN_LEASE_MS } from './once.input';
import type { ClaimTerms, ClaimTimes, Delivery } from './once.types';

/** Terms (times, delivery and replicas) of a claim, including those that only the module can set. */
export interface ResolvedTerms extends Readonly<Required<ClaimTerms>>, ResolvedReplicas {
  readonly maxLeaseMs: number;
}

export const KNOWN_TIMES: KnownOptions<ClaimTimes> = { leaseMs: true, retentionMs: true };
export const KNOWN_TERMS: KnownOptions<ClaimTerms> = { ...KNOWN_TIMES, delivery: true };

export const DEFAULT_TERMS: ResolvedTerms = Object.freeze({
  leaseMs: 30_000,
  maxLeaseMs: 3_600_000,
  retentionMs: 86_400_000,
  delivery: 'at-least-once',
  replicas: 0,
  replicasTimeoutMs: 1_000,
});

const DELIVERIES: readonly Delivery[] = ['at-least-once', 'at-most-once'];

/**
 * Checks the terms of a claim, and fills in the missing ones from the terms of the module.
 *
 * @throws the error that `checks` makes, with the option, its value and what is allowed
 */
export function resolveTerms(terms: ClaimTerms, module: ResolvedTerms, checks: Checks): ResolvedTerms {
  // Each option is read by its literal name, not in a loop over names, for speed: every run calls this function.
  const { leaseMs, retentionMs, delivery } = terms;
  const { maxLeaseMs, replicas, replicasTimeoutMs } = module;
  return {
    leaseMs: checks.integer('leaseMs', leaseMs ?? module.leaseMs, MIN_LEASE_MS, MAX_DURATION_MS),
    maxLeaseMs,
    retentionMs: checks.integer('retentionMs', retentionMs ?? module.retentionMs, 1, MAX_DURATION_MS),
    delivery: checks.choice('delivery', delivery ?? module.delivery, DELIVERIES),
    replicas,
    replicasTimeoutMs,
  };
}
