import {
  Checks,
  KNOWN_REPLICAS,
  KNOWN_SHUTDOWN,
  resolveReplicas,
  resolveShutdown,
  type KnownOptions,
  type ReplicaOptions,
  type ResolvedShutdown,
  type ShutdownOptions,
} from '../../internal/src';
import {
  resolveIdempotency,
  type IdempotencyOptions,
  type ResolvedIdempotencyOptions,
} from './idempotency/idempotency.options';
import { MAX_DURATION_MS } from './once.input';
import { DEFAULT_TERMS, KNOWN_TIMES, resolveTerms, type ResolvedTerms } from './once.terms';
import type { ClaimTimes } from './once.types';

const checks = new Checks('OnceModule');

export const ONCE_OPTIONS = Symbol('luanest:once-options');

/**
 * Options of OnceModule. `leaseMs` and `retentionMs` are the defaults for claims, runs, `@Once()` and `@Idempotent()`.
 *
 * `replicas`: number of replicas that must have a claim before its work begins, and a renewal or a confirmation before its call resolves.
 * If fewer have the write in time, the call rejects with NotReplicatedError. A renewal that `OnceService.run` makes by itself is then tried
 * again instead. An HTTP response waits for the replicas, too, but is sent in any case.
 */
export interface OnceModuleOptions extends ClaimTimes, ReplicaOptions, ShutdownOptions {
  /**
   * Longest time for which `OnceService.run` renews a lease, counted from the claim, ms; integer from 1 to 10 years. After this time, the
   * AbortSignal of the work is aborted, and the lease ends, so that work which never ends does not hold its id forever. If `leaseMs` is
   * longer, the lease ends after `leaseMs`. Default 3,600,000.
   */
  readonly maxLeaseMs?: number;
  /**
   * Maximum size of what is stored for an id, bytes; integer from 1 to 67,108,864 (64 MiB). This is a result as JSON, or a response with
   * status, headers and body. Default 65,536.
   */
  readonly maxResultBytes?: number;
  /** Options of idempotent HTTP routes. An app that uses `@Idempotent()` does not boot without this option. */
  readonly idempotency?: IdempotencyOptions;
}

export interface ResolvedOnceModuleOptions extends ResolvedTerms, ResolvedShutdown {
  readonly maxResultBytes: number;
  readonly idempotency: ResolvedIdempotencyOptions | undefined;
}

const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

const KNOWN: KnownOptions<OnceModuleOptions> = {
  ...KNOWN_TIMES,
  maxLeaseMs: true,
  ...KNOWN_REPLICAS,
  maxResultBytes: true,
  ...KNOWN_SHUTDOWN,
  idempotency: true,
};

export function resolveOptions(options: OnceModuleOptions): ResolvedOnceModuleOptions {
  checks.options('', options, KNOWN);
  const { leaseMs, retentionMs } = options;
  const terms = {
    ...resolveTerms({ leaseMs, retentionMs }, DEFAULT_TERMS, checks),
    maxLeaseMs: checks.integer('maxLeaseMs', options.maxLeaseMs ?? DEFAULT_TERMS.maxLeaseMs, 1, MAX_DURATION_MS),
    ...resolveReplicas(options, checks),
  };
  const maxResultBytes = checks.integer('maxResultBytes', options.maxResultBytes ?? 65_536, 1, MAX_RESULT_BYTES);
  return Object.freeze({
    ...terms,
    maxResultBytes,
    ...resolveShutdown(options, checks),
    idempotency: resolveIdempotency(options.idempotency, terms, maxResultBytes, checks),
  });
}
