import type { JobKind } from './jobs/job';
import type { JobRecord } from './scheduled-lock.types';

/** State of a job, for `luanest/console`. All times are ms since 1970. */
export interface JobLook {
  readonly kind: JobKind['type'];
  /**
   * When the job is due next, by the clock of this process; undefined if the job is never due again. For `@Interval`, the next period
   * begins then: the first call of the scheduler on any node after this time runs the job.
   */
  readonly nextAtMs: number | undefined;
  /**
   * State of the last run. `none`: Redis has no record of a run. `died`: the lease of the run has ended, but Redis has no outcome of the
   * run. `done`: the run has ended.
   */
  readonly run: 'none' | 'running' | 'died' | 'done';
  /** Option `node` of the process that runs or ran the job last; '' if Redis has no record of a run. */
  readonly node: string;
  /** Kind of the last run. `catch-up`: a lost run was repeated. `free`: a run by hand, or of a handler. '': Redis has no record. */
  readonly mode: 'tick' | 'catch-up' | 'free' | '';
  readonly fence: number;
  /** Start of the last run by Redis' clock; 0 if Redis has no record of a run. */
  readonly startedAtMs: number;
  /**
   * When the lease of the last run ends; 0 if Redis has no record of a run. With `lockAtLeastForMs`, the lease may end later than the
   * run.
   */
  readonly leaseEndsAtMs: number;
  /** The last outcomes in the history in Redis, the newest first. */
  readonly records: readonly JobRecord[];
}

/** The view of ScheduledLockService that `luanest/console` needs. */
export interface JobsConsole {
  /**
   * Returns the state of a job.
   *
   * @param records maximum number of outcomes to read; at least 1
   * @throws SetupError for a job that this app does not have
   */
  look(name: string, records: number): Promise<JobLook>;
}
