/**
 * Outcome of a tick. `ran`: the job returned. `failed`: the job threw. `lost`: before the job began or ended, its lease ended, or
 * shutdown fired its signal. `skipped-held`: the lock was held. `skipped-slot`: this slot or a newer one was claimed before.
 * `stale`: the slot is more than 5 s from Redis' time. `redis-error`: the claim failed.
 */
export type JobStatus = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** Entry of a job's history: the status of one tick or run. */
export interface JobRecord {
  readonly status: JobStatus;
  /** Scheduled instant, ms since 1970; 1 for `@Timeout`; 0 for a run by hand, for a handler, and if Redis failed before it was known. */
  readonly slot: number;
  /** When the status was recorded, ms since 1970; by Redis' clock, or by that of the process in events and if Redis did not save it. */
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
}

/** Result of `ScheduledLockService.runNow()` and `run()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /**
       * `ran`; `lost` if the lease ended, or shutdown fired the signal, during the run; `redis-error` if the job ran without a lock
       * (`onRedisError: 'run'`).
       */
      readonly status: JobStatus;
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /**
       * `skipped-held`; `redis-error`; `lost` if Redis replied after the end of the lease; `closed` while the app shuts down. For a
       * tick also `skipped-slot` and `stale`.
       */
      readonly status: JobStatus | 'closed';
    };

/** The current run, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /** Scheduled instant, ms since 1970; 1 for `@Timeout`; 0 for a run by hand, for a handler, and if Redis failed before it was known. */
  readonly slot: number;
  /**
   * Fencing token; 0 for a run without a lock (`onRedisError: 'run'`). It rises with each run of the job. If Redis no longer has the
   * job's key (after a week without a run, FLUSHALL, a failover), the fence is Redis' time in microseconds, so it rises unless that clock is
   * behind.
   */
  readonly fence: number;
  /** Signal that is aborted when the lease is lost, and at shutdown after `drainMs`. */
  readonly signal: AbortSignal;
  /** Must be called right before an action that needs the lock. @throws LostError if the lease is not held, so always in a run without a lock */
  assertHeld(): void;
}

/** Options of the module, for all jobs, and of one job, for itself. */
export interface JobTerms {
  /** Lease: how long a node that died keeps the lock, ms; integer from 10 to 2^31 - 1. Default 30,000, or the module's. */
  readonly leaseMs?: number;
  /** Behaviour if the claim fails: `skip` the run, or `run` the job without a lock. Default `skip`, or the module's. */
  readonly onRedisError?: 'skip' | 'run';
}

/** Options of one job. */
export interface ScheduledLockOptions extends JobTerms {
  /**
   * Name of the job, unique within the namespace; 1 to 256 characters. Default `Class.method`. Set a name if a minifier renames
   * classes.
   */
  readonly name?: string;
  /** Shortest time for which the lock is kept if the job ends sooner, unless the run is lost, ms; integer of 0 to `leaseMs`. Default 0. */
  readonly lockAtLeastForMs?: number;
  /** True to renew the lease while the job runs. Default true. */
  readonly renew?: boolean;
  /**
   * For `@Cron` and `@Interval`: any node may repeat a run that died or lost its lease, up to this many ms after its slot. An integer
   * above `leaseMs`; 0 for never. Set at least twice `leaseMs`, because nodes look for such runs about twice
   * within each lease. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /**
   * For `@Timeout` only, and required there: a text of 1 to 256 characters, such as the version of the app. The job runs once
   * for each key; Redis remembers a key for a year.
   */
  readonly key?: string;
}
