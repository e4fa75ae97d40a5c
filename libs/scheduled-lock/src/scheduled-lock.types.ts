/**
 * Outcome of a tick. A tick is one call of a job by the scheduler of one node. It claims a slot in Redis: its scheduled instant, which
 * runs on one node only. `ran`: the job returned. `failed`: the job threw. `lost`: the lease ended before the job began or ended, or
 * shutdown fired the signal of the run. `skipped-held`: another run held the lock. `skipped-slot`: this slot or a newer one was claimed
 * before. `stale`: the slot is more than 5 s from Redis' time. `redis-error`: the claim failed.
 */
export type JobStatus = 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'lost' | 'failed' | 'redis-error';

/** Entry of a job's history: the outcome of one tick or run. */
export interface JobRecord {
  readonly status: JobStatus;
  /**
   * Scheduled instant, ms since 1970. 1 for `@Timeout`. 0 for a run by hand, for a handler, and if Redis failed before the instant was
   * known.
   */
  readonly slot: number;
  /**
   * When the status was recorded, ms since 1970 by Redis' clock. In events, and for entries that Redis did not save, by the clock of
   * the process.
   */
  readonly recordedAtMs: number;
  /** How long the job ran under the lock, ms; 0 if the job did not run under the lock. */
  readonly durationMs: number;
  /** Fencing token of the run; 0 if Redis did not grant the run. */
  readonly fence: number;
  /** Option `node` of the process that recorded this entry. */
  readonly node: string;
}

/** Options of `ScheduledLockService.run()`. */
export interface ScheduledCallOptions {
  /** True to claim the current scheduled instant of the job, as a call of the scheduler does. Default false. */
  readonly tick?: boolean;
}

/** Result of `ScheduledLockService.runNow()` and `run()`. */
export type RunNowResult =
  | {
      readonly ran: true;
      /**
       * `ran`. `lost`: during the run, the lease ended, or shutdown fired the signal. `redis-error`: the job ran without a lock, because
       * the claim failed and `onRedisError` is `run`.
       */
      readonly status: JobStatus;
      readonly value: unknown;
    }
  | {
      readonly ran: false;
      /**
       * `skipped-held`: another run holds the lock. `redis-error`: the claim failed. `lost`: Redis replied after the end of the lease.
       * `closed`: the app is shutting down. With the option `tick` also `skipped-slot` and `stale`.
       */
      readonly status: JobStatus | 'closed';
    };

/** The current run, as `ScheduledLockService.current()` returns it. */
export interface ScheduledRun {
  readonly name: string;
  /**
   * Scheduled instant, ms since 1970. 1 for `@Timeout`. 0 for a run by hand, for a handler, and if Redis failed before the instant was
   * known.
   */
  readonly slot: number;
  /**
   * Fencing token. Each run of the job gets a higher fence than the run before. 0 for a run without a lock (`onRedisError: 'run'`).
   * Redis may lose the last fence: after a week without a run, by FLUSHALL, or by a failover. Then the next fence is the time of Redis
   * in microseconds. So it is still higher, unless the clock of Redis was set back.
   */
  readonly fence: number;
  /** Signal that fires when the lease is lost, and at shutdown after `drainMs`. */
  readonly signal: AbortSignal;
  /**
   * Checks that the lock is held. Call it right before an action that must not happen without the lock.
   *
   * @throws LostError if the lease has ended, and always in a run without a lock
   */
  assertHeld(): void;
}

/** Options that the module sets for all jobs, and that one job may set for itself. */
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
   * Shortest time for which the lock is kept after the start of the run, even if the job ends sooner, ms; integer of 0 to `leaseMs`. If the
   * run is lost, the lock is not kept. Default 0.
   */
  readonly lockAtLeastForMs?: number;
  /** True to renew the lease while the job runs. Default true. */
  readonly renew?: boolean;
  /**
   * How long after its scheduled instant a run may be repeated, ms. If the process of a run died, or the run lost its lease, any node may
   * repeat the run. Only for `@Cron` and `@Interval`. 0 for never, or an integer above `leaseMs`. Set at least twice `leaseMs`, because
   * nodes look for such runs about twice in each `leaseMs`. Default 0.
   */
  readonly catchUpWithinMs?: number;
  /**
   * Text of 1 to 256 characters, such as the version of the app. A job of `@Timeout` runs once for each key on all nodes together. Redis
   * remembers a key for a year. Required for `@Timeout`, and not allowed for other jobs.
   */
  readonly key?: string;
}
