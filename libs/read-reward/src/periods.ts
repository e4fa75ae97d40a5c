import { shown } from '../../internal/src';
import { CivilCalendar, type Bounds } from './civil-calendar';
import { InvalidReadRewardInputError } from './read-reward.errors';
import type { ResolvedRewardRule } from './read-reward.options';

const MAX_CALENDARS = 1_024;

// See DECISIONS.md: period-is-kept-with-the-user
/** The periods around an instant, and how scripts are told of them. */
export interface Periods {
  readonly bounds: Bounds;
  /** The rule's figures and the bounds, as `record` takes them. */
  readonly rule: string;
  /** End of the current period, ms since 1970. */
  readonly end: string;
  /** Tells rules, zones and periods apart in `FullUsers`. */
  readonly mark: number;
}

/** Periods of one rule in one zone; what was made of the last ones is kept. */
class RulePeriods {
  private last: Periods | undefined;
  private readonly calendar: CivilCalendar;
  private readonly figures: string;

  /** @throws RangeError for a zone that Intl does not know */
  constructor(
    rule: ResolvedRewardRule,
    timeZone: string,
    private readonly seed: number,
  ) {
    this.calendar = new CivilCalendar(rule, timeZone);
    const totalMs = rule.period === 'total' ? rule.retentionMs : 0;
    this.figures = [rule.limit, rule.pointsPerItem, rule.capPoints, totalMs].join(':');
  }

  around(instantMs: number): Periods {
    const bounds = this.calendar.around(instantMs);
    return this.last?.bounds === bounds ? this.last : (this.last = this.describe(bounds));
  }

  private describe(bounds: Bounds): Periods {
    const mark = Math.imul((bounds[2] / 1_000) ^ Math.imul(this.seed, 0x85ebca6b), 0xc2b2ae35);
    return { bounds, rule: `${this.figures}:${bounds.join(':')}`, end: String(bounds[2]), mark };
  }
}

/** Periods by rule and zone, around what Redis' clock is thought to show. */
export class RewardClock {
  private readonly periods = new Map<string, RulePeriods>();
  private readonly defaults = new Map<ResolvedRewardRule, RulePeriods>();
  private made = 0;
  /** Redis' clock less ours, as learnt from the last answer that needed it, ms. */
  private skewMs = 0;

  /** Periods of the rule, in the user's zone where one is given. @throws InvalidReadRewardInputError for an unknown zone */
  around(rule: ResolvedRewardRule, timeZone: string | undefined): Periods {
    return this.of(rule, timeZone).around(Date.now() + this.skewMs);
  }

  /** Takes Redis' clock from an answer that found itself in none of the periods; answers the skew, ms. */
  learn(redisNowMs: number): number {
    return (this.skewMs = redisNowMs - Date.now());
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
    // Formatters are large: more than there are zones in use is not worth keeping.
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

function unknownZone(timeZone: unknown, cause?: unknown): InvalidReadRewardInputError {
  return new InvalidReadRewardInputError(
    `timeZone is ${shown(timeZone)}. Expected a zone of the IANA database, such as "Asia/Shanghai".`,
    { cause },
  );
}
