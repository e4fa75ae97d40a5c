import { time } from '../../../internal/src';
import { refuses, type Verdict } from './decision';

/** Maximum number of rules whose refusals are counted, because an app may create a new rule for each call. */
const MAX_RULES = 1_000;

/** Counts the refusals by this process, per rule. */
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

  /** Returns how often a rule has refused, and when it did so last (`lastAtMs`, ms since 1970). Both are 0 if it has never refused. */
  of(rule: string): { readonly count: number; readonly lastAtMs: number } {
    return this.byRule.get(rule) ?? { count: 0, lastAtMs: 0 };
  }
}
