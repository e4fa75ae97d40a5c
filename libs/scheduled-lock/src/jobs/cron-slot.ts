/** What the scheduler's CronTime is asked. */
export interface CronTimes {
  readonly realDate: boolean;
  readonly source: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
}

/** The options of `@Cron` that decide when it fires. */
export interface CronOptions {
  readonly name?: string;
  readonly cronTime: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  readonly runOnInit?: boolean;
}

// A clock may be set back by a little between the timer and the look at it.
const EARLY_MS = 5;
const LOOKBACKS_MS = [2_000, 61_000, 3_601_000, 86_401_000, 2_764_800_000, 31_708_800_000, 158_112_000_000];

/**
 * The latest scheduled instant that is not after `now`, ms since the epoch.
 *
 * @param zone IANA name or `UTC+hh:mm`; default: the process' zone
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

/** The zone in which a cron expression is read; `utcOffset` is in minutes, as the cron package takes it. */
export function zoneOf({ timeZone, utcOffset }: Pick<CronOptions, 'timeZone' | 'utcOffset'>): string | undefined {
  if (timeZone !== undefined || utcOffset === undefined) return timeZone;
  const minutes = Math.abs(Number(utcOffset));
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `UTC${Number(utcOffset) < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}
