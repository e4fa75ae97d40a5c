import { ScriptFailedError, type ScriptRegistry } from 'luanest/script-registry';
import {
  block,
  consume,
  consumeFixedWindow,
  consumeFixedWindows,
  refund,
  reset,
  type FixedWindows,
} from '../rate-limit.scripts';
import type { NamedRule } from '../rules/rule';
import { LimiterKeys } from './keys';
import {
  capacityOf,
  type Budget,
  type ChargedHits,
  type Check,
  type Limiter,
  type Verdict,
  type Verdicts,
} from './limiter.port';

const CLUSTER_TAGS = 32;

/** Counts in Redis, by Redis' clock. */
export class RedisLimiter implements Limiter {
  private readonly keys: LimiterKeys;
  private readonly texts = new WeakMap<NamedRule, { readonly limit: number; readonly text: string }>();

  /** @param tags hash tags that subjects are spread over, at least 1; default 32 on a Cluster, else 1 */
  constructor(
    private readonly registry: ScriptRegistry,
    tags: number = registry.clustered ? CLUSTER_TAGS : 1,
  ) {
    this.keys = new LimiterKeys(registry.keySpace('rate-limit'), tags);
  }

  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> {
    const first = checks[0] as Check;
    if (checks.length === 1) {
      return charge && isPlain(first) ? this.consumeFixedWindow(first, budget) : this.run(checks, charge, budget);
    }
    const tag = this.keys.tagOf(first.subject);
    if (checks.every(({ subject }) => this.keys.tagOf(subject) === tag)) {
      return charge && checks.every(isPlain)
        ? this.consumeFixedWindows(checks, budget)
        : this.run(checks, charge, budget);
    }
    return this.consumeAcrossTags(checks, charge, budget);
  }

  recover(error: unknown, checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> | undefined {
    // The short scripts met a counter that holds no integer: blocked, or spoilt by others. Nothing was charged.
    const short = charge && checks.every(isPlain);
    return short && error instanceof ScriptFailedError ? this.run(checks, charge, budget) : undefined;
  }

  async refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]> {
    const given = new Array<number>(charged.length).fill(0);
    const groups = groupBy(charged, ({ check, chargedUs }) => `${this.keys.tagOf(check.subject)}:${chargedUs}`);
    await Promise.all(
      groups.map(async (group) => {
        const states = group.map(({ item: { check } }) => this.keys.state(check.rule, check.subject));
        const rules = group.flatMap(({ item: { check } }) => [this.textOf(check), String(check.cost)]);
        const { chargedUs } = (group[0] as { item: ChargedHits }).item;
        const answer = await this.registry.run(
          refund,
          { keys: { states }, args: { chargedUs, rules } },
          { deadlineMs },
        );
        for (const [n, { at }] of group.entries()) given[at] = answer[n] ?? 0;
      }),
    );
    return given;
  }

  async reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean> {
    const keys = { state: this.keys.state(rule, subject), penalty: this.keys.penalty(rule, subject) };
    return (await this.registry.run(reset, { keys, args: {} }, { deadlineMs })) > 0;
  }

  async block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void> {
    const keys = { state: this.keys.state(rule, subject), penalty: this.keys.penalty(rule, subject) };
    const args = { blockMs, memoryMs: rule.blockEscalation?.memoryMs ?? 0 };
    await this.registry.run(block, { keys, args }, { deadlineMs });
  }

  private consumeFixedWindow(check: Check, budget: Budget): Promise<Verdicts> {
    const { rule, subject, limit, cost } = check;
    const input = { keys: { counter: this.keys.state(rule, subject) }, args: { limit, windowMs: rule.windowMs, cost } };
    return this.registry.run(consumeFixedWindow, input, budget);
  }

  private consumeFixedWindows(checks: readonly Check[], budget: Budget): Promise<Verdicts> {
    const counters = checks.map(({ rule, subject }) => this.keys.state(rule, subject));
    const figures = checks.map(({ rule, limit, cost }) => `${limit} ${rule.windowMs} ${cost}`).join(' ');
    const run = this.registry.run(consumeFixedWindows, { keys: { counters }, args: { figures } }, budget);
    return run.then((answer) => verdictsOfWindows(checks, answer));
  }

  private run(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> {
    const keys: string[] = [];
    const rules: string[] = [];
    for (const check of checks) {
      keys.push(this.keys.state(check.rule, check.subject), this.keys.penalty(check.rule, check.subject));
      rules.push(this.textOf(check), String(check.cost));
    }
    const args = { charge: charge ? 1 : 0, rules };
    return this.registry.run(consume, { keys: { keys }, args }, budget);
  }

  /** A rule's text; kept, since the limit of most rules is the same for every request. */
  private textOf(check: Check): string {
    const kept = this.texts.get(check.rule);
    if (kept?.limit === check.limit) return kept.text;
    const text = textOf(check);
    this.texts.set(check.rule, { limit: check.limit, text });
    return text;
  }

  /** Subjects of several tags share no command: each tag's checks are charged, and given back when another refuses. */
  private async consumeAcrossTags(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> {
    const groups = groupBy(checks, ({ subject }) => String(this.keys.tagOf(subject)));
    const outcomes = await Promise.allSettled(
      groups.map((group) =>
        this.run(
          group.map(({ item }) => item),
          charge,
          budget,
        ),
      ),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
    const allowed = failed === undefined && answers.every((answer) => answer?.allowed);
    const rules: Verdict[] = [];
    const charged: ChargedHits[] = [];
    for (const [n, group] of groups.entries()) {
      const answer = answers[n];
      for (const [i, { item: check, at }] of group.entries()) {
        const verdict = answer?.rules[i];
        if (verdict === undefined) continue;
        const reserved = charge && answer?.allowed === true && verdict.verdict === 0 && check.cost > 0;
        if (reserved && !allowed) charged.push({ check, chargedUs: verdict.atUs });
        rules[at] = reserved && !allowed ? withoutCharge(verdict, check.cost) : verdict;
      }
    }
    // Nobody waits for it, and what is not given back expires with its window.
    if (charged.length > 0) this.refund(charged, budget.deadlineMs).catch(() => undefined);
    if (failed) throw failed.reason;
    return { allowed, rules };
  }
}

/** A verdict whose hits are given back; its times are still those with the charge, unless nothing else counts. */
function withoutCharge(verdict: Verdict, cost: number): Verdict {
  const used = verdict.used - cost;
  return used > 0 ? { ...verdict, used } : { ...verdict, used, resetMs: 0, nextMs: 0 };
}

// See DECISIONS.md: short-scripts-for-fixed-windows
/** Returns true if the short script can decide a check. */
function isPlain({ rule, limit, cost }: Check): boolean {
  return rule.algorithm === 'fixed-window' && rule.blockMs === 0 && !rule.shadow && cost > 0 && cost <= limit;
}

/** What `consumeFixedWindows` has decided: all are charged, or none. */
function verdictsOfWindows(checks: readonly Check[], { windows, atUs }: FixedWindows): Verdicts {
  const allowed = checks.every(({ limit }, i) => (windows[2 * i] as number) <= limit);
  const rules = checks.map(({ limit, cost }, i): Verdict => {
    const [withOwn, leftMs] = [windows[2 * i] as number, windows[2 * i + 1] as number];
    const over = withOwn > limit;
    const used = allowed ? withOwn : withOwn - cost;
    const resetMs = used > 0 ? leftMs : 0;
    return { verdict: over ? 1 : 0, used, resetMs, retryMs: over ? leftMs : 0, nextMs: over ? leftMs : resetMs, atUs };
  });
  return { allowed, rules };
}

/** A rule with its figures, as the scripts read it. */
function textOf(check: Check): string {
  const { rule, limit } = check;
  const mode = rule.shadow ? 'shadow' : rule.freshAfterBlock ? 'fresh' : '';
  return [rule.algorithm, limit, rule.windowMs, capacityOf(check), mode, penaltyOf(rule)].join(':');
}

function penaltyOf({ blockMs, blockEscalation }: NamedRule): string {
  if (blockMs === 0) return '';
  const { factor = 1, maxMs = blockMs, memoryMs = 0 } = blockEscalation ?? {};
  return [blockMs, factor, maxMs, memoryMs].join(':');
}

function groupBy<T>(items: readonly T[], idOf: (item: T) => string): { item: T; at: number }[][] {
  const groups = new Map<string, { item: T; at: number }[]>();
  for (const [at, item] of items.entries()) {
    const id = idOf(item);
    const group = groups.get(id);
    if (group) group.push({ item, at });
    else groups.set(id, [{ item, at }]);
  }
  return [...groups.values()];
}
