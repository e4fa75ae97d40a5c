import type { JobKind } from './jobs/job';
import type { JobRecord } from './scheduled-lock.types';

/** State of a job, for `luanest/console`. Instants are ms since 1970. */
export interface JobLook {
  readonly kind: JobKind['type'];
  /**
   * When the next slot begins, by the clock of this process; undefined if the job has none. The tick of `@Interval` that comes first
   * after this instant takes the slot.
   */
  readonly nextAtMs: number | undefined;
  /** `none`: Redis knows no run. `died`: the lease of the last run has ended, and the run has not completed. */
  readonly run: 'none' | 'running' | 'died' | 'done';
  /** Option `node` of the process that has or had the last run; '' without one. */
  readonly node: string;
  /** `free`: a run by hand, or of a handler. */
  readonly mode: 'tick' | 'catch-up' | 'free' | '';
  readonly fence: number;
  /** Start of the last run by Redis' clock; 0 without one. */
  readonly startedAtMs: number;
  /** When the lease of the last run ends; 0 without one. A job with `lockAtLeastForMs` may be locked although its run is done. */
  readonly leaseEndsAtMs: number;
  /** The last outcomes that Redis has, the newest first. */
  readonly records: readonly JobRecord[];
}

/** The view of ScheduledLockService that `luanest/console` needs. */
export interface JobsConsole {
  /** @param records most outcomes to read, at least 1. @throws SetupError for a job that this app does not have */
  look(name: string, records: number): Promise<JobLook>;
}
