/**
 * Outcome of a tick. `ran`: the job returned. `failed`: the job threw. `lost`: before the job began or ended, its lease ended, or
 * shutdown fired its signal. `skipped-held`: the lock was held. `skipped-slot`: this slot or a newer one was claimed before.
 * `stale`: the slot is further from Redis' time than `staleAfterMs`. `redis-error`: the claim failed.
 */
export type JobOutcome = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** Entry of a job's history: the outcome of one tick or run. */
export interface JobRecord {
  readonly outcome: JobOutcome;
  /** Scheduled instant, ms since 1970; 1 for `@Timeout`; 0 for a run by hand, for a handler, and if Redis failed before it was known. */
  readonly slot: number;
  /** When the outcome was recorded, ms since 1970; by Redis' clock, or by that of the process in events and if Redis did not save it. */
  readonly recordedAtMs: number;
  /** How long the job ran under the lock, ms; 0 if it did not. */
  readonly durationMs: number;
  /** Fencing token of the run; 0 unless Redis granted the run. */
  readonly fence: number;
  /** Option `node` of the process. */
  readonly node: string;
}

/** Options of `ScheduledLockService.run()`. */
export interface ScheduledCallOptions {
  /** True if the call counts for the scheduled instant of now, as a call of the scheduler does. Default false. */
  readonly tick?: boolean;
  /** Arguments of the call, which guards and interceptors see if the job has `enhancers`. Default none. */
  readonly args?: readonly unknown[];
}

/** Result of `ScheduledLockService.runNow()` and `run()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /**
       * `ran`; `lost` if the lease ended, or shutdown fired the signal, during the run; `redis-error` if the job ran without a lock
       * (`onRedisError: 'run'`).
       */
      readonly outcome: JobOutcome;
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /**
       * `skipped-held`; `redis-error`; `lost` if Redis replied after the end of the lease; `closed` while the app shuts down. For a
       * tick also `skipped-slot` and `stale`.
       */
      readonly outcome: JobOutcome | 'closed';
    };

/** The current run, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /** Scheduled instant, ms since 1970; 1 for `@Timeout`; 0 for a run by hand, for a handler, and if Redis failed before it was known. */
  readonly slot: number;
  /**
   * Fencing token; 0 for a run without a lock (`onRedisError: 'run'`). It rises with each run of the job. If Redis no longer has the
   * job's key (after `retentionMs`, FLUSHALL, a failover), the fence is Redis' time in microseconds, so it rises unless that clock is
   * behind.
   */
  readonly fence: number;
  /** Signal that is aborted when the lease is lost, and at shutdown after `drainMs`. */
  readonly signal: AbortSignal;
  /** Must be called right before an action that needs the lock. @throws LostError if the lease is not held, so always in a run without a lock */
  assertHeld(): void;
}

/** Options of one job. */
export interface ScheduledLockOptions {
  /**
   * Name of the job, unique within the namespace; 1 to 256 characters. Default `Class.method`. Set a name if a minifier renames
   * classes.
   */
  readonly name?: string;
  /** Lease: how long a node that died keeps the lock, ms; integer from 10 to 2^31 - 1. Default: the module's. */
  readonly leaseMs?: number;
  /** Shortest time for which the lock is kept if the job ends sooner, unless the run is lost, ms; integer of 0 to `leaseMs`. Default 0. */
  readonly lockAtLeastForMs?: number;
  /** True to renew the lease while the job runs. Default true. */
  readonly renew?: boolean;
  /** Behaviour if the claim fails: `skip` the run, or `run` the job without a lock. Default: the module's. */
  readonly onRedisError?: 'skip' | 'run';
  /** For `@Cron` only: how far a slot may be from Redis' time before its tick is `stale`, ms; integer of 1 to half of `retentionMs`. Default: the module's. */
  readonly staleAfterMs?: number;
  /**
   * For `@Cron` and `@Interval`: any node may repeat a run that died or lost its lease, up to this many ms after its slot. An integer
   * above `leaseMs` and up to `retentionMs`; 0 for never. Set at least twice `leaseMs`, because nodes look for such runs about twice
   * within each lease. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /**
   * Number of replicas that must have the claim within the module's `replicasTimeoutMs`, otherwise the claim has failed; integer of 0
   * to 100. Default: the module's.
   */
  readonly replicas?: number;
  /**
   * For `@Timeout` only, and required there: a text of 1 to 256 characters, such as the version of the app. The job runs once
   * for each key, while Redis keeps the key (`retentionMs`).
   */
  readonly key?: string;
  /** For scheduled jobs. True: the job runs through its Nest interceptors, guards and filters, with context type `cron`. Default false. */
  readonly enhancers?: boolean;
}
