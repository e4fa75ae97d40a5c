import { shown, time, InvalidInputError } from '../../internal/src';
import { CivilCalendar, type Bounds } from './civil-calendar';
import type { ResolvedRewardRule } from './read-reward.options';

const MAX_CALENDARS = 1_024;
/** Periods around the current time, as numbers and as arguments of scripts. See DECISIONS.md: period-is-kept-with-the-user */
export interface Periods {
  readonly bounds: Bounds;
  /** The argument `rule` of the scripts: settings of the rule, and bounds of the periods. */
  readonly rule: string;
  /** The argument `current` of the scripts: start and end of the current period, end of the next period, and points of an item. */
  readonly current: string;
  /** Length of the next period, ms. */
  readonly gapMs: number;
  /** Hash of rule, zone and period, for `CappedUsersHint`. */
  readonly mark: number;
}

/** Periods of one rule in one time zone, with cached arguments for scripts. */
class RulePeriods {
  private last: Periods | undefined;
  private readonly calendar: CivilCalendar;

  /** @throws RangeError for a zone that Intl does not know */
  constructor(
    private readonly rule: ResolvedRewardRule,
    timeZone: string,
    private readonly seed: number,
  ) {
    this.calendar = new CivilCalendar(rule, timeZone);
  }

  around(instantMs: number): Periods {
    const bounds = this.calendar.around(instantMs);
    return this.last?.bounds === bounds ? this.last : (this.last = this.describe(bounds));
  }

  private describe(bounds: Bounds): Periods {
    const mark = Math.imul((bounds[2] / 1_000) ^ Math.imul(this.seed, 0x85ebca6b), 0xc2b2ae35);
    const { limit, pointsPerItem, capPoints, period, retentionMs } = this.rule;
    const [, start, end, after] = bounds;
    return {
      bounds,
      rule: [limit, pointsPerItem, capPoints, period === 'total' ? retentionMs : 0, ...bounds].join(':'),
      current: `${start}:${end}:${after}:${pointsPerItem}:`,
      gapMs: after - end,
      mark,
    };
  }
}

/** Finds the current periods of rules, by Redis' clock. It estimates this clock from the clock of this process. */
export class RewardClock {
  private readonly periods = new Map<string, RulePeriods>();
  private readonly defaults = new Map<ResolvedRewardRule, RulePeriods>();
  private made = 0;
  /** Estimate of Redis' clock minus this process' clock, ms. Corrected only when Redis' clock was outside the periods of a call. */
  private skewMs = 0;

  /**
   * Returns the current periods of a rule in a time zone; default: the zone of the rule. @throws InvalidInputError for an unknown zone
   */
  around(rule: ResolvedRewardRule, timeZone: string | undefined): Periods {
    return this.of(rule, timeZone).around(time.nowMs() + this.skewMs);
  }

  /** Corrects the estimate of Redis' clock. @param redisNowMs time that Redis has returned @returns the new difference of the clocks, ms */
  synchronize(redisNowMs: number): number {
    return (this.skewMs = redisNowMs - time.nowMs());
  }

  private of(rule: ResolvedRewardRule, timeZone: string | undefined): RulePeriods {
    if (timeZone === undefined || timeZone === rule.timeZone) {
      const found = this.defaults.get(rule);
      if (found !== undefined) return found;
      const made = new RulePeriods(rule, rule.timeZone, ++this.made);
      this.defaults.set(rule, made);
      return made;
    }
    if (typeof timeZone !== 'string') throw unknownZone(timeZone);
    const key = `${rule.name}:${timeZone}`;
    const found = this.periods.get(key);
    if (found !== undefined) return found;
    const made = this.make(rule, timeZone);
    // Each calendar has a formatter of Intl, which takes much memory. The limit is enough for all IANA zones of one rule.
    if (this.periods.size >= MAX_CALENDARS) this.periods.clear();
    this.periods.set(key, made);
    return made;
  }

  private make(rule: ResolvedRewardRule, timeZone: string): RulePeriods {
    try {
      return new RulePeriods(rule, timeZone, ++this.made);
    } catch (cause) {
      throw unknownZone(timeZone, cause);
    }
  }
}

function unknownZone(timeZone: unknown, cause?: unknown): InvalidInputError {
  return new InvalidInputError(
    `ReadRewardService: timeZone is ${shown(timeZone)}. Expected a zone of the IANA database, such as "Asia/Shanghai".`,
    { cause },
  );
}
