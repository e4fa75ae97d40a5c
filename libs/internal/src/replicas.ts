import type { Checks, KnownOptions } from './checks';

/** Options of a module whose writes can wait for replicas. */
export interface ReplicaOptions {
  /** Number of replicas that must have a write (WAIT), integer from 0 to 100. Default 0: no wait for replicas. */
  readonly replicas?: number;
  /** Longest wait for the replicas, ms; integer from 1 to 60,000. Default 1,000. */
  readonly replicasTimeoutMs?: number;
}

export type ResolvedReplicas = Readonly<Required<ReplicaOptions>>;

export const KNOWN_REPLICAS: KnownOptions<ReplicaOptions> = { replicas: true, replicasTimeoutMs: true };

/** Checks the options and fills in the defaults. @throws the error that `checks` makes */
export function resolveReplicas({ replicas, replicasTimeoutMs }: ReplicaOptions, checks: Checks): ResolvedReplicas {
  return {
    replicas: checks.integer('replicas', replicas ?? 0, 0, 100),
    replicasTimeoutMs: checks.integer('replicasTimeoutMs', replicasTimeoutMs ?? 1_000, 1, 60_000),
  };
}
