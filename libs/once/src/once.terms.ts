import type { Checks, KnownOptions, ResolvedReplicas } from '../../internal/src';
import { MAX_DURATION_MS, MIN_LEASE_MS } from './once.input';
import type { ClaimTerms, ClaimTimes, Delivery } from './once.types';

/** Times, delivery and replicas of a claim, including settings that only the module has. */
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
 * Checks the times and the delivery of a claim, and fills in missing ones from the module. Copies the other terms from the module.
 *
 * @throws the error that `checks` creates, with the option, its value and what is allowed
 */
export function resolveTerms(terms: ClaimTerms, module: ResolvedTerms, checks: Checks): ResolvedTerms {
  // Each run with options of its own may call this function. Reading each option by name is faster than a loop over names.
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
