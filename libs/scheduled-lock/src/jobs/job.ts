import type { ResolvedJobOptions } from '../scheduled-lock.options';

export interface CronSlots {
  /**
   * Returns true if a call of `fireOnTick()` caused this tick; false if a timer did, or if the job is not found. Call it once for
   * each tick, as soon as the tick begins.
   */
  firedByHand(): boolean;
  /** Returns the latest scheduled instant, ms since 1970. */
  slotNow(): Promise<number>;
  /** Returns the first scheduled instant after `nowMs`, ms since 1970; undefined if there is none. */
  nextAfter(nowMs: number): number | undefined;
}

/**
 * Kind of a job. A slot is one scheduled run, which only one node does. The kind decides how to find the slot when the scheduler calls a
 * job: for a cron job, by its last scheduled instant. A handler is not scheduled, so it has no slots.
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
  /** How long Redis keeps the last slot, the fencing token and the history after the last run, ms. */
  readonly retentionMs: number;
}

export interface JobMethod {
  readonly instance: object;
  readonly method: string;
  readonly job: Job;
  /** The method as the class defines it, which runs without the lock. */
  readonly original: (...args: unknown[]) => unknown;
}

/** Function that does the work under the lock: it calls the method of a job, or the handler of a request. */
export type Work = () => unknown;

/** How long Redis remembers that the job of a key of `@Timeout` ran, ms: a year. */
const KEY_MS = 365 * 86_400_000;

/**
 * Returns how long Redis must remember the last slot of a job, ms: until no node can run or repeat that slot any more. If Redis forgot the
 * slot sooner, it could run twice.
 *
 * @param leastMs lowest result, ms
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
