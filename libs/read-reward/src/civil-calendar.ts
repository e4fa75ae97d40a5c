/** Length of a reward period. */
export type Period = 'day' | 'week' | 'month' | 'total';

/** What decides where periods begin. */
export interface CivilRule {
  readonly period: Period;
  /** Minutes after civil midnight at which a day starts, 0 to 1,439. */
  readonly dayStartsAtMinutes: number;
  /** First day of a week, 1 Monday to 7 Sunday. */
  readonly weekStartsOn: number;
}

/** Starts of the previous, the current, the next period and the two after it, ms since 1970, ascending. */
export type Bounds = readonly [number, number, number, number, number];

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** The last instant that a Date can hold: the end of the period `total`. */
export const END_OF_TIME_MS = 8_640_000_000_000_000;
/** More than any zone is away from UTC, and less than from one transition to the next. */
const REACH_MS = 16 * 3_600_000;
const ENDLESS: Bounds = [0, 1, END_OF_TIME_MS, END_OF_TIME_MS + 1, END_OF_TIME_MS + 2];

const FIELDS = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

/** A zone's distance from UTC at an instant, from what Intl says the clocks there show. */
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

  /** What must be added to an instant to get the wall time as if it were UTC, ms. */
  offsetAt(instantMs: number): number {
    const fields = FIELDS.exec(this.format.format(instantMs));
    if (fields === null) throw new Error(`Intl wrote a date as ${this.format.format(instantMs)}.`);
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

  /** The first instant at which the clocks show this wall time or, where they leap over it, a later one. */
  firstInstantAt(wallMs: number): number {
    const [before, after] = [this.offsetAt(wallMs - REACH_MS), this.offsetAt(wallMs + REACH_MS)];
    const early = wallMs - before;
    if (before === after || this.offsetAt(early) === before) return early;
    const late = wallMs - after;
    return this.offsetAt(late) === after ? late : this.transition(wallMs, before);
  }

  /** The first instant after the clocks leapt over a wall time. */
  private transition(wallMs: number, before: number): number {
    let [low, high] = [wallMs - REACH_MS, wallMs + REACH_MS];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }
}

/** Start of the k-th period, counted from 1970, as a wall time. */
function wallStart(k: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const startsAt = dayStartsAtMinutes * MINUTE_MS;
  if (period === 'day') return k * DAY_MS + startsAt;
  // 1970 began on a Thursday.
  if (period === 'week') return (k * 7 + weekStartsOn - 4) * DAY_MS + startsAt;
  return Date.UTC(1970, k, 1) + startsAt;
}

/** The period of a wall time, as the count that `wallStart` takes. */
function indexOf(wallMs: number, { period, weekStartsOn, dayStartsAtMinutes }: CivilRule): number {
  const shifted = wallMs - dayStartsAtMinutes * MINUTE_MS;
  const day = Math.floor(shifted / DAY_MS);
  if (period === 'day') return day;
  if (period === 'week') return Math.floor((day - weekStartsOn + 4) / 7);
  const date = new Date(shifted);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** Periods of one rule in one zone; remembers those of the last instant that was asked for. */
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

  /** The periods around an instant: it lies in the current one, from the second of the bounds to before the third. */
  around(instantMs: number): Bounds {
    if (this.rule.period === 'total') return ENDLESS;
    const { bounds } = this;
    return instantMs >= bounds[1] && instantMs < bounds[2] ? bounds : (this.bounds = this.compute(instantMs));
  }

  private compute(instantMs: number): Bounds {
    const k = indexOf(instantMs + this.clock.offsetAt(instantMs), this.rule);
    // Wall time may be ahead of its period or behind it near a transition, and a civil day may be skipped altogether.
    const starts = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map((i) =>
      this.clock.firstInstantAt(wallStart(k + i, this.rule)),
    );
    const distinct = starts.filter((start, i) => i === 0 || start > (starts[i - 1] as number));
    const next = distinct.findIndex((start) => start > instantMs);
    const found = distinct.slice(next - 2, next + 3);
    if (next < 2 || found.length < 5) throw new Error(`No periods were found around ${instantMs}.`);
    return found as unknown as Bounds;
  }
}
