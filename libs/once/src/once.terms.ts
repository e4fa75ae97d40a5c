import type { Checks, KnownOptions } from '../../internal/src';
import { MAX_DURATION_MS } from './once.input';
import type { ClaimTerms, Delivery } from './once.types';

export type ResolvedTerms = Readonly<Required<ClaimTerms>>;

export const KNOWN_TERMS: KnownOptions<ClaimTerms> = {
  leaseMs: true,
  maxLeaseMs: true,
  retentionMs: true,
  delivery: true,
  replicas: true,
  replicasTimeoutMs: true,
};

export const DEFAULT_TERMS: ResolvedTerms = Object.freeze({
  leaseMs: 30_000,
  maxLeaseMs: 3_600_000,
  retentionMs: 86_400_000,
  delivery: 'at-least-once',
  replicas: 0,
  replicasTimeoutMs: 1_000,
});

const MAX_REPLICAS_TIMEOUT_MS = 3_600_000;

const DELIVERIES: readonly Delivery[] = ['at-least-once', 'at-most-once'];

/**
 * Checks the terms of a claim and fills in the defaults.
 *
 * @throws the error that `checks` makes, with the option, its value and what is allowed
 */
export function resolveTerms(terms: ClaimTerms, defaults: ResolvedTerms, checks: Checks): ResolvedTerms {
  // Each option is read by its name, because every run passes here, and a name in a variable makes reading slower.
  const { leaseMs, maxLeaseMs, retentionMs, delivery, replicas, replicasTimeoutMs } = terms;
  return {
    leaseMs: checks.integer('leaseMs', leaseMs ?? defaults.leaseMs, 1, MAX_DURATION_MS),
    maxLeaseMs: checks.integer('maxLeaseMs', maxLeaseMs ?? defaults.maxLeaseMs, 1, MAX_DURATION_MS),
    retentionMs: checks.integer('retentionMs', retentionMs ?? defaults.retentionMs, 1, MAX_DURATION_MS),
    delivery: checks.choice('delivery', delivery ?? defaults.delivery, DELIVERIES),
    replicas: checks.integer('replicas', replicas ?? defaults.replicas, 0, 100),
    replicasTimeoutMs: checks.integer(
      'replicasTimeoutMs',
      replicasTimeoutMs ?? defaults.replicasTimeoutMs,
      1,
      MAX_REPLICAS_TIMEOUT_MS,
    ),
  };
}
