import type { ResolvedJobOptions } from '../scheduled-lock.options';

/** Where the slots of a job of `@Cron` come from. */
export interface CronSlots {
  /** Returns true if a tick was made by hand; asked once for each tick, in the turn in which it begins. */
  firedByHand(): boolean;
  /** The latest scheduled instant, ms since the epoch. */
  slotNow(): Promise<number>;
}

/** How a job's slots are found. */
export type JobKind =
  | { readonly type: 'cron'; readonly live: CronSlots }
  | { readonly type: 'interval'; readonly periodMs: number }
  | { readonly type: 'timeout' }
  | { readonly type: 'handler' };

/** A decorated method of one instance. */
export interface Job {
  readonly options: ResolvedJobOptions;
  readonly kind: JobKind;
  /** Redis key of the slot, the fence and the lease. */
  readonly state: string;
  /** Redis key of the outcomes. */
  readonly history: string;
  /** Runs the method through its enhancers, where these were asked for. */
  readonly enhanced: ((...args: unknown[]) => Promise<unknown>) | undefined;
}

/** A job and the method that it runs. */
export interface JobMethod {
  readonly instance: object;
  readonly method: string;
  readonly job: Job;
  /** The method without its lock. */
  readonly original: (...args: unknown[]) => unknown;
}

/** What a tick does once it has the lock. */
export type Work = () => unknown;
