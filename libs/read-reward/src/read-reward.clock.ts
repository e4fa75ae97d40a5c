import { CivilCalendar, type Bounds } from './civil-calendar';
import { InvalidReadRewardInputError } from './read-reward.errors';
import type { ResolvedRewardRule } from './read-reward.options';

const MAX_CALENDARS = 1_024;

/** Periods by rule and zone, around what Redis' clock is thought to show. */
export class RewardClock {
  private readonly calendars = new Map<string, CivilCalendar>();
  private readonly defaults = new Map<ResolvedRewardRule, CivilCalendar>();
  /** Redis' clock less ours, as learnt from the last answer that needed it, ms. */
  private skewMs = 0;

  /** Periods of the rule, in the user's zone where one is given. @throws InvalidReadRewardInputError for an unknown zone */
  bounds(rule: ResolvedRewardRule, timeZone: string | undefined): Bounds {
    return this.calendar(rule, timeZone).around(Date.now() + this.skewMs);
  }

  /** Takes Redis' clock from an answer that found itself in none of the periods; answers the skew, ms. */
  learn(redisNowMs: number): number {
    return (this.skewMs = redisNowMs - Date.now());
  }

  private calendar(rule: ResolvedRewardRule, timeZone: string | undefined): CivilCalendar {
    if (timeZone === undefined || timeZone === rule.timeZone) {
      const found = this.defaults.get(rule);
      if (found !== undefined) return found;
      const made = new CivilCalendar(rule, rule.timeZone);
      this.defaults.set(rule, made);
      return made;
    }
    const key = `${rule.name}:${timeZone}`;
    const found = this.calendars.get(key);
    if (found !== undefined) return found;
    const made = this.make(rule, timeZone);
    // Formatters are large: more than there are zones in use is not worth keeping.
    if (this.calendars.size >= MAX_CALENDARS) this.calendars.clear();
    this.calendars.set(key, made);
    return made;
  }

  private make(rule: ResolvedRewardRule, timeZone: string): CivilCalendar {
    try {
      return new CivilCalendar(rule, timeZone);
    } catch (cause) {
      throw new InvalidReadRewardInputError(
        `timeZone is ${String(timeZone).slice(0, 80)}. Give a zone of the IANA database, such as "Asia/Shanghai".`,
        { cause },
      );
    }
  }
}
