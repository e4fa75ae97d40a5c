/** The part of the class CronTime of the package `cron` that this lib uses. */
export interface CronTimes {
  readonly realDate: boolean;
  readonly source: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
}

/** The options of `@Cron` that this lib uses. */
export interface CronOptions {
  readonly name?: string;
  readonly cronTime: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  readonly runOnInit?: boolean;
}

/**
 * A scheduled instant up to this many ms after `now` counts as reached. A timer may fire that early by the clock, if the clock was set back
 * a little while the timer ran.
 */
const EARLY_MS = 5;
/**
 * How far before `now` the search for the latest scheduled instant begins, ms: first 2 s. If the search finds nothing, it begins again
 * about 1 min, 1 h, 1 day, 32 days, 1 year and 5 years before `now`.
 */
const LOOKBACKS_MS = [2_000, 61_000, 3_601_000, 86_401_000, 2_764_800_000, 31_708_800_000, 158_112_000_000];

/**
 * Returns the latest scheduled instant up to 5 ms after `now`, ms since 1970. For a job with a date instead of an expression, returns
 * that date. If there is no instant in the last five years, returns the current second.
 *
 * @param zone IANA name or `UTC+hh:mm`; default: the time zone of the process
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

/**
 * Returns the first scheduled instant after `now`, ms since 1970; undefined if there is none.
 *
 * @param zone IANA name or `UTC+hh:mm`; default: the time zone of the process
 */
export function nextSlot(times: CronTimes, now: number, zone?: string): number | undefined {
  const next = times.realDate
    ? new Date(times.source as string).getTime()
    : times.getNextDateFrom(new Date(now), zone).toMillis();
  return next > now ? next : undefined;
}

/** Returns the time zone of a cron job; undefined for the time zone of the process. `utcOffset` is in minutes, as in the package `cron`. */
export function zoneOf({ timeZone, utcOffset }: Pick<CronOptions, 'timeZone' | 'utcOffset'>): string | undefined {
  if (timeZone !== undefined || utcOffset === undefined) return timeZone;
  const minutes = Math.abs(Number(utcOffset));
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `UTC${Number(utcOffset) < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}
