/**
 * Outcome of a tick. `ran`; `failed`: the job threw; `lost`: the lease ended first; `skipped-held`: another run had the lock;
 * `skipped-slot`: another node had the slot; `stale`: the slot is too far from Redis' time; `redis-error`: Redis failed.
 */
export type JobOutcome = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** One outcome in a job's history. */
export interface JobRecord {
  readonly outcome: JobOutcome;
  /** Scheduled instant, ms since 1970; 1 for `@Timeout`; 0 if there is none (a run by hand) or it is unknown. */
  readonly slot: number;
  /** When the outcome was recorded, ms since 1970. */
  readonly recordedAtMs: number;
  readonly durationMs: number;
  /** 0 unless the job ran under the lock. */
  readonly fence: number;
  readonly node: string;
}

/** Result of `ScheduledLockService.runNow()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /** `ran`; `lost` if the lease ended during the run; `redis-error` if it ran without a lock (`onRedisError: 'run'`). */
      readonly outcome: JobOutcome;
      /** Return value of the method. */
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /** `skipped-held`, `redis-error`, `lost` if Redis replied after the lease, or `closed` while the app shuts down. */
      readonly outcome: JobOutcome | 'closed';
    };

/** The current run, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /** Scheduled instant, ms since 1970; 0 for a run by hand and for a handler, which have none. */
  readonly slot: number;
  /** Rises with each run; 0 for a run without lock under `onRedisError: 'run'`. */
  readonly fence: number;
  /** Aborted when the lease is lost, and at the end of the drain at shutdown. */
  readonly signal: AbortSignal;
  /** @throws LockLostError unless the lease is held; also in a run without a lock (`onRedisError: 'run'`) */
  assertHeld(): void;
}

/** Options of one job. */
export interface ScheduledLockOptions {
  /** Name of the job, unique within the namespace. Default `Class.method`; set it if a minifier renames classes. */
  readonly name?: string;
  /** Lease: how long a node that died keeps the lock, ms; integer >= 10. Default: the module's. */
  readonly leaseMs?: number;
  /** Shortest time that the lock is kept, also if the job ends sooner, ms; integer of 0 to `leaseMs`. Default 0. */
  readonly lockAtLeastForMs?: number;
  /** True to renew the lease while the job runs. Default true. */
  readonly renew?: boolean;
  /** Behaviour of a tick if Redis fails: `skip` it, or `run` it without a lock. Default: the module's. */
  readonly onRedisError?: 'skip' | 'run';
  /** For `@Cron` only: how far a slot may be from Redis' time, ms; integer of 1 to half of `retentionMs`. Default: the module's. */
  readonly staleAfterMs?: number;
  /**
   * For `@Cron` and `@Interval`: lets another node run a slot whose run died, up to this many ms after the slot. An integer
   * above `leaseMs` (nodes check twice within each lease, so set at least twice that) and up to `retentionMs`, or 0 for
   * never. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /** Replicas that must have the claim before the job runs, integer of 0 to 100. Default: the module's. */
  readonly replicas?: number;
  /** Only with `replicas`: longest wait for them, ms; integer >= 1. Default: the module's. */
  readonly replicasTimeoutMs?: number;
  /** For `@Timeout` only, and required there: the job runs once for each key, such as the deployed version. */
  readonly key?: string;
  /** For scheduled jobs: runs them through their Nest interceptors, guards and filters, with context type `cron`. Default false. */
  readonly enhancers?: boolean;
}
