import type { Checks, KnownOptions } from './checks';
import { NotReplicatedError } from './errors';

/** Options of a module that can wait until replicas have its writes. */
export interface ReplicaOptions {
  /** Number of replicas that must have a write (WAIT), integer from 0 to 100. Default 0: no wait for replicas. */
  readonly replicas?: number;
  /** Longest wait for the replicas, ms; integer from 1 to 60,000. Default 1,000. */
  readonly replicasTimeoutMs?: number;
}

export type ResolvedReplicas = Readonly<Required<ReplicaOptions>>;

/**
 * Returns the parameters of the WAIT that follows the renewal of a lease. WAIT gets at most half of `deadlineMs`, so that its reply still
 * arrives in time.
 * See DECISIONS.md: renewals-wait-for-replicas
 *
 * @param deadlineMs longest time until the reply, ms
 */
export function waitOfRenewal({ replicas, replicasTimeoutMs }: ResolvedReplicas, deadlineMs: number) {
  const longestMs = Math.max(2, deadlineMs);
  return { replicas, timeoutMs: Math.min(replicasTimeoutMs, Math.floor(longestMs / 2)), deadlineMs: longestMs };
}

/** Returns the error for a renewal that too few replicas confirmed. @param what name of the lease for the message, such as `lock a` */
export function renewalNotReplicated(what: string, copies: number, { replicas }: ResolvedReplicas): NotReplicatedError {
  return new NotReplicatedError(
    `The renewal of ${what} reached ${copies} of ${replicas} replicas within replicasTimeoutMs. A failover may undo the renewal, so ` +
      'the lease keeps its old end. Check that the replicas are connected and do not lag.',
    'renew',
    copies,
    replicas,
  );
}

export const KNOWN_REPLICAS: KnownOptions<ReplicaOptions> = { replicas: true, replicasTimeoutMs: true };

/** Checks the options and fills in the defaults. @throws the error that `checks` creates */
export function resolveReplicas({ replicas, replicasTimeoutMs }: ReplicaOptions, checks: Checks): ResolvedReplicas {
  return {
    replicas: checks.integer('replicas', replicas ?? 0, 0, 100),
    replicasTimeoutMs: checks.integer('replicasTimeoutMs', replicasTimeoutMs ?? 1_000, 1, 60_000),
  };
}
