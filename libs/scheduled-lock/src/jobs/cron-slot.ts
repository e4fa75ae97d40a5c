export interface CronTimes {
  readonly realDate: boolean;
  readonly source: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
}

export interface CronOptions {
  readonly name?: string;
  readonly cronTime: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  readonly runOnInit?: boolean;
}

/**
 * A scheduled time counts as reached when it is at most this far in the future, ms. A timer may fire that early if the clock was set back a
 * little while the timer ran.
 */
const EARLY_MS = 5;
/**
 * The search for the latest scheduled time begins this long before `now`, ms: first 2 s. If nothing is found, it begins again further back:
 * about 1 min, 1 h, 1 day, 32 days, 1 year and 5 years.
 */
const LOOKBACKS_MS = [2_000, 61_000, 3_601_000, 86_401_000, 2_764_800_000, 31_708_800_000, 158_112_000_000];

/**
 * Returns the latest scheduled time of a cron job, ms since 1970; it may be up to 5 ms after `now`. For a job with a date instead of an
 * expression, returns the date. If the expression had no time in the last five years, returns the current second.
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
 * Returns the next scheduled time of a cron job after `now`, ms since 1970; undefined if there is none.
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
