import type { ResolvedJobOptions } from '../scheduled-lock.options';

/** How a job's slots are found. */
export type JobKind =
  | { readonly type: 'cron'; readonly slotNow: () => Promise<number> }
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

/** What a tick does once it has the lock. */
export type Work = () => unknown;
