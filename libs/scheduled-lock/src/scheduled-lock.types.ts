/**
 * Result of one call of a job. `ran`: the job returned. `failed`: the job threw. `lost`: the lease ended before the job did, or a shutdown
 * stopped the run. `skipped-held`: another run held the lock. `skipped-slot`: a node had already claimed this scheduled time or a newer
 * one. `stale`: the scheduled time differs from Redis' time by more than 5 s. `redis-error`: the call to Redis that claims the run failed.
 */
export type JobStatus = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** Entry in the history of a job: the result of one call. */
export interface JobRecord {
  readonly status: JobStatus;
  /** Scheduled time, ms since 1970. 1 for `@Timeout`. 0 for a run by hand, for a handler, and if Redis failed before the time was known. */
  readonly slot: number;
  /**
   * When the result was stored, ms since 1970 by Redis' clock; by the clock of the process in events, and if Redis did not store the
   * result.
   */
  readonly recordedAtMs: number;
  /** How long the job ran under the lock, ms; 0 if it did not. */
  readonly durationMs: number;
  /** Fencing token of the run; 0 if Redis did not grant the run. */
  readonly fence: number;
  /** Option `node` of the process that stored this entry. */
  readonly node: string;
}

/** Options of `ScheduledLockService.run()`. */
export interface ScheduledCallOptions {
  /**
   * True: the call counts as the run of the current scheduled time, so no other node runs the job for that time. False: an extra run, apart
   * from the schedule. Default false.
   */
  readonly tick?: boolean;
}

/** Result of `ScheduledLockService.runNow()` and `run()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /**
       * `ran`: the job ran under its lock. `lost`: during the run, the lease ended, or a shutdown stopped the run. `redis-error`: the job
       * ran without a lock, because its claim failed and `onRedisError` is `run`.
       */
      readonly status: JobStatus;
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /**
       * `skipped-held`: another run holds the lock. `redis-error`: the claim failed. `lost`: the claim took longer than the lease.
       * `closed`: the app is shutting down. With the option `tick` also `skipped-slot` and `stale`.
       */
      readonly status: JobStatus | 'closed';
    };

/** The current run, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /** Scheduled time, ms since 1970. 1 for `@Timeout`. 0 for a run by hand, for a handler, and if Redis failed before the time was known. */
  readonly slot: number;
  /**
   * Fencing token. Each run of the job gets a higher fence than the run before. 0 for a run without a lock (`onRedisError: 'run'`). Redis
   * forgets the last fence after a week without a run, and may lose it by FLUSHALL or a failover. The next fence, Redis' time in
   * microseconds, is still higher then, unless the clock was set back.
   */
  readonly fence: number;
  /** Signal that is aborted when the lease is lost, and at a shutdown after `drainMs`. */
  readonly signal: AbortSignal;
  /**
   * Checks that the lock is held. Call it right before an action that must not happen without the lock.
   *
   * @throws LostError if the lease has ended, and always in a run without a lock
   */
  assertHeld(): void;
}

/** Options that the module sets for all jobs, and that a single job can override. */
export interface JobTerms {
  /**
   * Length of the lease, ms; integer from 10 to 2^31 - 1. If a node dies during a run, the lock of the job is free after this time at the
   * latest. Default: the option of the module, which is 30,000 by default.
   */
  readonly leaseMs?: number;
  /**
   * Behaviour if the call to Redis that claims a run fails. `skip`: do not run the job. `run`: run the job without a lock, maybe on several
   * nodes. Default: the option of the module, which is `skip` by default.
   */
  readonly onRedisError?: 'skip' | 'run';
}

/** Options of one job. */
export interface ScheduledLockOptions extends JobTerms {
  /**
   * Name of the job, unique within the namespace; 1 to 256 characters. Default `Class.method`. If a minifier renames your classes, set
   * a name.
   */
  readonly name?: string;
  /**
   * The lock is kept at least this long after the start of a run, even if the job ends sooner, ms; integer from 0 to `leaseMs`. It is not
   * kept if the run was lost. Default 0.
   */
  readonly lockAtLeastForMs?: number;
  /** True to renew the lease while the job runs. Default true. */
  readonly renew?: boolean;
  /**
   * How long after its scheduled time a run may be repeated by any node, if its process died or lost its lease, ms. Only for `@Cron` and
   * `@Interval`. 0: never; otherwise an integer above `leaseMs`. Nodes look for such runs about twice in each `leaseMs`, so set at least
   * twice `leaseMs`. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /**
   * Text of 1 to 256 characters, such as the version of the app. A job of `@Timeout` runs once for each key, on one of the nodes. Redis
   * remembers a key for a year. Required for `@Timeout`, and not allowed for other jobs.
   */
  readonly key?: string;
}
