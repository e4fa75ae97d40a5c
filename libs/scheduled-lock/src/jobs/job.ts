import type { ResolvedJobOptions } from '../scheduled-lock.options';

export interface CronSlots {
  /**
   * Returns true if the app called `fireOnTick()` to run the job now; false if a timer fired, or if the job is not found. Call it once for
   * each run, as soon as the run begins.
   */
  firedByHand(): boolean;
  /** Returns the latest scheduled time, ms since 1970. */
  slotNow(): Promise<number>;
  /** Returns the next scheduled time after `nowMs`, ms since 1970; undefined if there is none. */
  nextAfter(nowMs: number): number | undefined;
}

/**
 * Kind of a job. The slot of a run is its scheduled time, which only one node may claim. For a cron job, the slot is the latest time of the
 * expression that has come; for an interval, the start of the period. A handler is not scheduled, so it has no slots.
 */
export type JobKind =
  | { readonly type: 'cron'; readonly live: CronSlots }
  | { readonly type: 'interval'; readonly periodMs: number }
  | { readonly type: 'timeout' }
  | { readonly type: 'handler' };

export interface Job {
  readonly options: ResolvedJobOptions;
  readonly kind: JobKind;
  readonly state: string;
  readonly history: string;
  /** How long Redis keeps the last slot (scheduled time), the fencing token and the history after the last run, ms. */
  readonly retentionMs: number;
}

export interface JobMethod {
  readonly instance: object;
  readonly method: string;
  readonly job: Job;
  /** The method as the class defines it, without the lock. */
  readonly original: (...args: unknown[]) => unknown;
}

/** Work to do under the lock: the method of a job, or the handler of a request. */
export type Work = () => unknown;

/** How long Redis remembers that the job of a `@Timeout` with a `key` has run, ms: a year. */
const KEY_MS = 365 * 86_400_000;

/**
 * Returns how long Redis must remember the last scheduled time of a job that was claimed, ms. If Redis forgot it too early, another node
 * could run the job for the same time again.
 *
 * @param leastMs shortest result, ms
 */
export function retentionOf(kind: JobKind, { catchUpWithinMs }: ResolvedJobOptions, leastMs: number): number {
  if (kind.type === 'timeout') return KEY_MS;
  return Math.max(leastMs, catchUpWithinMs, kind.type === 'interval' ? 2 * kind.periodMs : 0);
}

/** Returns when a job is due next, ms since 1970; undefined if the job is never due again. */
export function nextSlotOf(kind: JobKind, nowMs: number): number | undefined {
  if (kind.type === 'cron') return kind.live.nextAfter(nowMs);
  return kind.type === 'interval' ? nowMs - (nowMs % kind.periodMs) + kind.periodMs : undefined;
}
