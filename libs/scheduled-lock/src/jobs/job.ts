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
 * Kind of a job. It decides how to find the slot of a tick, such as the scheduled instant of a cron job. A handler is not scheduled, so it
 * has no slots.
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
  /** How long Redis keeps the last slot, the fence and the history after the last tick, ms. */
  readonly retentionMs: number;
}

export interface JobMethod {
  readonly instance: object;
  readonly method: string;
  readonly job: Job;
  /** The method without its lock. */
  readonly original: (...args: unknown[]) => unknown;
}

/** Calls the method of a job, or continues the request of a handler. */
export type Work = () => unknown;

/** How long a key of `@Timeout` is remembered, ms: a year. */
const KEY_MS = 365 * 86_400_000;

/**
 * Returns how long Redis must remember which slots of a job ran: until no node can fire or catch up one of them any more. A slot
 * that was forgotten earlier could run twice.
 *
 * @param leastMs shortest time, ms
 */
export function retentionOf(kind: JobKind, { catchUpWithinMs }: ResolvedJobOptions, leastMs: number): number {
  if (kind.type === 'timeout') return KEY_MS;
  return Math.max(leastMs, catchUpWithinMs, kind.type === 'interval' ? 2 * kind.periodMs : 0);
}

/** Returns when the next slot of a job begins, ms since 1970; undefined if it has none. */
export function nextSlotOf(kind: JobKind, nowMs: number): number | undefined {
  if (kind.type === 'cron') return kind.live.nextAfter(nowMs);
  return kind.type === 'interval' ? nowMs - (nowMs % kind.periodMs) + kind.periodMs : undefined;
}
