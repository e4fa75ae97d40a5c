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

/** Counts hits in Redis, by Redis' clock. */
export class RedisLimiter implements Limiter {
  private readonly keys: LimiterKeys;

  /** @param tags number of hash tags over which the keys are sharded, at least 1. Default: 32 on a Cluster, else 1 */
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

  async refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]> {
    const given = new Array<number>(charged.length).fill(0);
    const groups = groupBy(charged, ({ check, chargedUs }) => `${this.keys.tagOf(check.subject)}:${chargedUs}`);
    await Promise.all(
      groups.map(async (group) => {
        const states = group.map(({ item: { check } }) => this.keys.state(check.rule, check.subject));
        const rules = group.flatMap(({ item: { check } }) => [textOf(check), String(check.cost)]);
        const { chargedUs } = (group[0] as { item: ChargedHits }).item;
        const refunded = await this.registry.run(
          refund,
          { keys: { states }, args: { chargedUs, rules } },
          { deadlineMs },
        );
        for (const [n, { at }] of group.entries()) given[at] = refunded[n] ?? 0;
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
    return this.registry
      .run(consumeFixedWindow, input, budget)
      .catch((error: unknown) => this.runAfter(error, [check], budget));
  }

  private consumeFixedWindows(checks: readonly Check[], budget: Budget): Promise<Verdicts> {
    const counters = checks.map(({ rule, subject }) => this.keys.state(rule, subject));
    const parameters = checks.map(({ rule, limit, cost }) => `${limit} ${rule.windowMs} ${cost}`).join(' ');
    return this.registry.run(consumeFixedWindows, { keys: { counters }, args: { parameters } }, budget).then(
      (reply) => verdictsOfWindows(checks, reply),
      (error: unknown) => this.runAfter(error, checks, budget),
    );
  }

  /**
   * Decides with the script `consume` if a script for fixed windows failed in Redis. Such a script fails, and charges nothing,
   * on a counter that is not an integer, such as the text that `block` writes. Other errors are thrown again.
   */
  private runAfter(error: unknown, checks: readonly Check[], budget: Budget): Promise<Verdicts> {
    if (error instanceof ScriptFailedError) return this.run(checks, true, budget);
    throw error;
  }

  private run(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> {
    const keys: string[] = [];
    const rules: string[] = [];
    for (const check of checks) {
      keys.push(this.keys.state(check.rule, check.subject), this.keys.penalty(check.rule, check.subject));
      rules.push(textOf(check), String(check.cost));
    }
    const args = { charge: charge ? 1 : 0, rules };
    return this.registry.run(consume, { keys: { keys }, args }, budget);
  }

  /**
   * Decides checks whose subjects have different hash tags, with one command per hash tag. If a command refuses or fails,
   * refunds what the other commands have charged.
   */
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
    const replies = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
    const allowed = failed === undefined && replies.every((reply) => reply?.allowed);
    const rules: Verdict[] = [];
    const charged: ChargedHits[] = [];
    for (const [n, group] of groups.entries()) {
      const reply = replies[n];
      for (const [i, { item: check, at }] of group.entries()) {
        const verdict = reply?.rules[i];
        if (verdict === undefined) continue;
        const reserved = charge && reply?.allowed === true && verdict.verdict === 0 && check.cost > 0;
        if (reserved && !allowed) charged.push({ check, chargedUs: verdict.atUs });
        rules[at] = reserved && !allowed ? withoutCharge(verdict, check.cost) : verdict;
      }
    }
    // The refund is not awaited, and its error is ignored: hits that are not refunded stop counting with time.
    if (charged.length > 0) this.refund(charged, budget.deadlineMs).catch(() => undefined);
    if (failed) throw failed.reason;
    return { allowed, rules };
  }
}

/** Subtracts refunded hits from a verdict. Its times still include these hits, unless no other hits count. */
function withoutCharge(verdict: Verdict, cost: number): Verdict {
  const used = verdict.used - cost;
  return used > 0 ? { ...verdict, used } : { ...verdict, used, resetMs: 0, nextMs: 0 };
}

/**
 * Returns true if the scripts for fixed windows, which cost less than `consume`, can decide a check.
 * See DECISIONS.md: short-scripts-for-fixed-windows
 */
function isPlain({ rule, limit, cost }: Check): boolean {
  return rule.algorithm === 'fixed-window' && rule.blockMs === 0 && !rule.shadow && cost > 0 && cost <= limit;
}

/** Computes the verdicts from a reply of `consumeFixedWindows`, which charged all checks or none of them. */
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

/** Returns the parameters of a rule as text, in the format that consume.lua describes. */
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
