/** Length of a period in which items are rewarded. */
export type Period = 'day' | 'week' | 'month' | 'total';

export interface CivilRule {
  readonly period: Period;
  /** Time at which a day starts, as minutes after local midnight, 0 to 1,439. */
  readonly dayStartsAtMinutes: number;
  readonly weekStartsOn: number;
}

/** Starts of five periods in a row, ms since 1970: of the previous one, the current one, and the three after it. */
export type Bounds = readonly [number, number, number, number, number];

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** End of the period `total`: the latest instant that a Date can hold, ms since 1970. */
export const END_OF_TIME_MS = 8_640_000_000_000_000;
/**
 * How far a search looks before and after a local time, ms: longer than any time zone's offset from UTC, and shorter than the time
 * between two clock changes.
 */
const REACH_MS = 16 * 3_600_000;
const ENDLESS: Bounds = [0, 1, END_OF_TIME_MS, END_OF_TIME_MS + 1, END_OF_TIME_MS + 2];

const FIELDS = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

/** Clock of a time zone. Finds its offset from UTC by comparing with the local time of `Intl.DateTimeFormat`. */
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

  /** Returns the zone's offset from UTC at a time, ms: local time minus UTC. */
  offsetAt(instantMs: number): number {
    const fields = FIELDS.exec(this.format.format(instantMs));
    if (fields === null)
      throw new Error(
        `read-reward: Intl.DateTimeFormat of this Node returned ${this.format.format(instantMs)}. Expected month/day/year, hour:minute:second. Use a build of Node with full ICU.`,
      );
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

  /** Returns the first time at which clocks in the zone show this local time. If they skip it, returns the time of the skip. */
  firstInstantAt(localMs: number): number {
    const [before, after] = [this.offsetAt(localMs - REACH_MS), this.offsetAt(localMs + REACH_MS)];
    const early = localMs - before;
    if (before === after || this.offsetAt(early) === before) return early;
    const late = localMs - after;
    return this.offsetAt(late) === after ? late : this.transition(localMs, before);
  }

  /** Returns the time at which clocks skip a local time. @param before offset from UTC before the skip, ms */
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

/** Returns the start of period number `k`, counted from 1970, as local time in ms. */
function localStart(k: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const startsAt = dayStartsAtMinutes * MINUTE_MS;
  if (period === 'day') return k * DAY_MS + startsAt;
  // 1 January 1970 was a Thursday, day 4 of the week.
  if (period === 'week') return (k * 7 + weekStartsOn - 4) * DAY_MS + startsAt;
  return Date.UTC(1970, k, 1) + startsAt;
}

/** Returns the number of the period that contains a local time, counted from 1970. */
function indexOf(localMs: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const shifted = localMs - dayStartsAtMinutes * MINUTE_MS;
  const day = Math.floor(shifted / DAY_MS);
  if (period === 'day') return day;
  if (period === 'week') return Math.floor((day - weekStartsOn + 4) / 7);
  const date = new Date(shifted);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** Periods of one rule in one time zone. Caches the result of the last call. */
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

  /** Returns the periods around a time. The second bound is the start of the period that contains it. */
  around(instantMs: number): Bounds {
    if (this.rule.period === 'total') return ENDLESS;
    const { bounds } = this;
    return instantMs >= bounds[1] && instantMs < bounds[2] ? bounds : (this.bounds = this.compute(instantMs));
  }

  private compute(instantMs: number): Bounds {
    const k = indexOf(instantMs + this.clock.offsetAt(instantMs), this.rule);
    // Ten starts are computed to find five. Near a clock change, `k` may be wrong by one, and a zone may skip a whole day, as Samoa did in
    // 2011.
    const starts = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map((i) =>
      this.clock.firstInstantAt(localStart(k + i, this.rule)),
    );
    const distinct = starts.filter((start, i) => i === 0 || start > (starts[i - 1] as number));
    const next = distinct.findIndex((start) => start > instantMs);
    const found = distinct.slice(next - 2, next + 3);
    if (next < 2 || found.length < 5)
      throw new Error(
        `read-reward: The reward periods around ${instantMs} (ms since 1970) cannot be computed in this time zone. Check the clocks of this machine and of Redis.`,
      );
    return found as unknown as Bounds;
  }
}
