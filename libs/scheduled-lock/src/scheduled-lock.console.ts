import type { ScriptRegistry } from 'luanest/script-registry';
import type { JobKind } from './jobs/job';
import type { JobRecord } from './scheduled-lock.types';

/** State of a job, for `luanest/console`. All times are ms since 1970. */
export interface JobLook {
  /** `other`: a job that this app does not have. */
  readonly kind: JobKind['type'] | 'other';
  /**
   * When the job is due next, by the clock of this process; undefined if never. For `@Interval`, the start of the next period: the first
   * call on any node after that runs the job.
   */
  readonly nextAtMs: number | undefined;
  /**
   * State of the last run. `none`: Redis knows no run. `died`: the lease of the run has ended, but no result was stored. `done`: the run
   * has ended.
   */
  readonly run: 'none' | 'running' | 'died' | 'done';
  /** Option `node` of the process that runs or ran the job last; '' if Redis knows no run. */
  readonly node: string;
  /**
   * Kind of the last run. `tick`: a scheduled run. `catch-up`: the repetition of a lost run. `free`: a run without a
   * scheduled time: by hand, or a call of a method that is not a cron job. '': Redis knows no run.
   */
  readonly mode: 'tick' | 'catch-up' | 'free' | '';
  readonly fence: number;
  /** Start of the last run by Redis' clock; 0 if Redis knows no run. */
  readonly startedAtMs: number;
  /** When the lease of the last run ends; 0 if Redis knows no run. With `lockAtLeastForMs`, this may be later than the end of the run. */
  readonly leaseEndsAtMs: number;
  /** The last results in the history in Redis, the newest first. */
  readonly records: readonly JobRecord[];
}

/** Reads the state of jobs for `luanest/console`. */
export interface JobsConsole {
  readonly registry: ScriptRegistry;
  /**
   * Returns the state of a job.
   *
   * @param records maximum number of results to read; at least 1
   * @throws SetupError for a job that this app does not have
   */
  look(name: string, records: number): Promise<JobLook>;
  /** Returns the state of a job of any app. @param tag the namespace and the name of the job, with `:` between them */
  lookAt(tag: string, records: number): Promise<JobLook>;
  /** Returns the `tag` of a job of this app, as `lookAt` takes it. */
  tagOf(name: string): string;
}
