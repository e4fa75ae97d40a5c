/** Length of a reward period. */
export type Period = 'day' | 'week' | 'month' | 'total';

/** Settings that decide when periods begin. */
export interface CivilRule {
  readonly period: Period;
  /** Minutes after civil midnight at which a day starts, 0 to 1,439. */
  readonly dayStartsAtMinutes: number;
  /** First day of a week, 1 Monday to 7 Sunday. */
  readonly weekStartsOn: number;
}

/** Starts of the previous, the current and the next three periods, ms since 1970, ascending. */
export type Bounds = readonly [number, number, number, number, number];

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Latest instant of a Date: the end of the period `total`. */
export const END_OF_TIME_MS = 8_640_000_000_000_000;
/** Longer than the offset of any zone from UTC, and shorter than the time between two offset transitions. */
const REACH_MS = 16 * 3_600_000;
const ENDLESS: Bounds = [0, 1, END_OF_TIME_MS, END_OF_TIME_MS + 1, END_OF_TIME_MS + 2];

const FIELDS = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

/** Offsets of a time zone from UTC, computed from the local time that Intl formats. */
class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  /** @throws RangeError for a zone that Intl does not know */
  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** Returns the offset from UTC at an instant, ms: the instant plus the offset is the local time, read as UTC. */
  offsetAt(instantMs: number): number {
    const fields = FIELDS.exec(this.format.format(instantMs));
    if (fields === null)
      throw new Error(`Intl formatted a date in an unexpected way: ${this.format.format(instantMs)}.`);
    const [month, day, year, hour, minute, second] = fields.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instantMs / 1_000) * 1_000;
  }

  /** Returns the first instant with this local time. If the clocks skip it, returns the instant of the skip. */
  firstInstantAt(localMs: number): number {
    const [before, after] = [this.offsetAt(localMs - REACH_MS), this.offsetAt(localMs + REACH_MS)];
    const early = localMs - before;
    if (before === after || this.offsetAt(early) === before) return early;
    const late = localMs - after;
    return this.offsetAt(late) === after ? late : this.transition(localMs, before);
  }

  /** Returns the instant at which the clocks skip a local time. @param before offset before it */
  private transition(localMs: number, before: number): number {
    let [low, high] = [localMs - REACH_MS, localMs + REACH_MS];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }
}

/** Returns the start of the k-th period since 1970, as local time. */
function localStart(k: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const startsAt = dayStartsAtMinutes * MINUTE_MS;
  if (period === 'day') return k * DAY_MS + startsAt;
  // 1970 began on a Thursday.
  if (period === 'week') return (k * 7 + weekStartsOn - 4) * DAY_MS + startsAt;
  return Date.UTC(1970, k, 1) + startsAt;
}

/** Returns the number of the period that contains a local time: the `k` of `localStart`. */
function indexOf(localMs: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const shifted = localMs - dayStartsAtMinutes * MINUTE_MS;
  const day = Math.floor(shifted / DAY_MS);
  if (period === 'day') return day;
  if (period === 'week') return Math.floor((day - weekStartsOn + 4) / 7);
  const date = new Date(shifted);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** Periods of one rule in one time zone. It caches the periods of the last instant. */
export class CivilCalendar {
  private readonly clock: ZoneClock;
  private bounds: Bounds = [0, 0, 0, 0, 0];

  /** @throws RangeError for a zone that Intl does not know */
  constructor(
    private readonly rule: CivilRule,
    timeZone: string,
  ) {
    this.clock = new ZoneClock(timeZone);
  }

  /** Returns the periods around an instant. The current period, which contains the instant, begins at `bounds[1]`. */
  around(instantMs: number): Bounds {
    if (this.rule.period === 'total') return ENDLESS;
    const { bounds } = this;
    return instantMs >= bounds[1] && instantMs < bounds[2] ? bounds : (this.bounds = this.compute(instantMs));
  }

  private compute(instantMs: number): Bounds {
    const k = indexOf(instantMs + this.clock.offsetAt(instantMs), this.rule);
    // Near a transition the local time may be in the period before or after, and a whole civil day may be skipped.
    const starts = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map((i) =>
      this.clock.firstInstantAt(localStart(k + i, this.rule)),
    );
    const distinct = starts.filter((start, i) => i === 0 || start > (starts[i - 1] as number));
    const next = distinct.findIndex((start) => start > instantMs);
    const found = distinct.slice(next - 2, next + 3);
    if (next < 2 || found.length < 5) throw new Error(`No periods were found around the instant ${instantMs}.`);
    return found as unknown as Bounds;
  }
}
