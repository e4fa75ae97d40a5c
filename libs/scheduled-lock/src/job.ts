import type { ResolvedJobOptions } from './scheduled-lock.options';

/** How a job's slots are found. */
export type JobKind =
  | { readonly type: 'cron'; readonly slotNow: () => number }
  | { readonly type: 'interval'; readonly periodMs: number }
  | { readonly type: 'timeout' }
  | { readonly type: 'handler' };

/** A decorated method of one instance. */
export interface Job {
  readonly options: ResolvedJobOptions;
  readonly kind: JobKind;
  readonly state: string;
  readonly history: string;
  /** Runs the method through its enhancers, where these were asked for. */
  readonly enhanced: ((...args: unknown[]) => Promise<unknown>) | undefined;
}

/** What the scheduler's CronTime is asked. */
export interface CronTimes {
  readonly realDate: boolean;
  readonly source: unknown;
  getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
}

// Timers may ring early by a little; slots are whole seconds.
const EARLY_MS = 50;
const LOOKBACKS_MS = [2_000, 61_000, 3_601_000, 86_401_000, 2_764_800_000, 31_708_800_000, 158_112_000_000];

/**
 * The latest scheduled instant that is not after `now`, ms since the epoch.
 *
 * @param zone IANA name or `UTC+h:mm`; default: the process' zone
 */
export function latestSlot(times: CronTimes, now: number, zone?: string): number {
  if (times.realDate) return new Date(times.source as string).getTime();
  for (const lookback of LOOKBACKS_MS) {
    const from = Math.floor((now - lookback) / 1_000) * 1_000;
    let next = times.getNextDateFrom(new Date(from), zone).toMillis();
    if (next > now + EARLY_MS) continue;
    for (let slot = next; ; slot = next) {
      next = times.getNextDateFrom(new Date(slot), zone).toMillis();
      if (next > now + EARLY_MS || next <= slot) return slot;
    }
  }
  return Math.floor(now / 1_000) * 1_000;
}
