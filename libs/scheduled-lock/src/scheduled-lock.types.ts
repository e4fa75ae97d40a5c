/** How a tick of a job went. */
export type JobOutcome = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** One outcome in a job's history. */
export interface JobRecord {
  readonly outcome: JobOutcome;
  /** Scheduled instant, ms since the epoch; 1 for `@Timeout`; 0 where there is none, as by hand, or it is not known. */
  readonly slot: number;
  /** When it was noted, ms since the epoch. */
  readonly recordedAtMs: number;
  readonly durationMs: number;
  /** 0 unless it ran under the lock. */
  readonly fence: number;
  readonly node: string;
}

/** What became of `ScheduledLockService.runNow()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /** `ran`; `lost` when the lease ended meanwhile; `redis-error` when it ran without lock (`onRedisError: 'run'`). */
      readonly outcome: JobOutcome;
      /** What the method returned. */
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /** `skipped-held`, `redis-error`, `lost` when Redis answered after the lease, or `closed` while the app shuts down. */
      readonly outcome: JobOutcome | 'closed';
    };

/** The lock of the run that calls, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /** Scheduled instant, ms since the epoch; 0 for a run by hand and for a handler, which have none. */
  readonly slot: number;
  /** Rises with each run; 0 for a run without lock under `onRedisError: 'run'`. */
  readonly fence: number;
  /** Aborted when the lease is lost, and at the end of the drain at shutdown. */
  readonly signal: AbortSignal;
  /** @throws LockLostError unless the lease still lasts; also for a run without lock under `onRedisError: 'run'` */
  assertHeld(): void;
}

/** Options of one job. */
export interface ScheduledLockOptions {
  /** Unique within the namespace. Default `Class.method`; give one where a minifier renames classes. */
  readonly name?: string;
  /** How long the lock outlives a node that dies, ms; integer >= 10. Default: the module's. */
  readonly leaseMs?: number;
  /** How long the lock is kept although the job was done sooner, ms; integer of 0 to `leaseMs`. Default 0. */
  readonly lockAtLeastForMs?: number;
  /** Whether the lease is renewed while the job runs. Default true. */
  readonly renew?: boolean;
  /** What a tick does when Redis fails: `skip` it, or `run` it without lock. Default: the module's. */
  readonly onRedisError?: 'skip' | 'run';
  /** For `@Cron` only: how far a slot may be from Redis' time, ms; integer of 1 to half of `retentionMs`. Default: the module's. */
  readonly staleAfterMs?: number;
  /**
   * For `@Cron` and `@Interval`: lets another node take a slot whose run died, up to this many ms after the slot. An integer
   * above `leaseMs` (nodes look twice within each lease, so give at least double) and up to `retentionMs`, or 0 for
   * never. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /** Replicas that must have the claim before the job runs, integer of 0 to 100. Default: the module's. */
  readonly replicas?: number;
  /** Only with `replicas`: how long to wait for them, ms; integer >= 1. Default: the module's. */
  readonly replicasTimeoutMs?: number;
  /** For `@Timeout` only, and needed there: it runs once for each key, such as the version that is deployed. */
  readonly key?: string;
  /** For scheduled jobs: runs them through their Nest interceptors, guards and filters, with context type `cron`. Default false. */
  readonly enhancers?: boolean;
}
