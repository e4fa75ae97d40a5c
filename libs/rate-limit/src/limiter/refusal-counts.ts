import { time } from '../../../internal/src';
import { refuses, type Verdict } from './decision';

/** Maximum number of rules whose refusals are counted. There is a maximum, because an app may make a new rule for each call. */
const MAX_RULES = 1_000;

/** Counts of the refusals of this process, by the names of the rules that refused. */
export class RefusalCounts {
  private readonly byRule = new Map<string, { count: number; lastAtMs: number }>();

  add(verdicts: readonly Verdict[]): void {
    for (const verdict of verdicts) {
      if (!refuses(verdict)) continue;
      const { name } = verdict.check.rule;
      const found = this.byRule.get(name);
      if (found) {
        found.count += 1;
        found.lastAtMs = time.nowMs();
      } else if (this.byRule.size < MAX_RULES) this.byRule.set(name, { count: 1, lastAtMs: time.nowMs() });
    }
  }

  /**
   * Returns the number of refusals by a rule, and the time of the last one (`lastAtMs`, ms since 1970). Both are 0 if there was
   * none.
   */
  of(rule: string): { readonly count: number; readonly lastAtMs: number } {
    return this.byRule.get(rule) ?? { count: 0, lastAtMs: 0 };
  }
}
