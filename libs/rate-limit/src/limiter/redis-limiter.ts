import type { ScriptRegistry } from 'luanest/script-registry';
import { Steps, time } from '../../../internal/src';
import { block, consume, consumeFixedWindow, consumeFixedWindows, refund, reset } from '../rate-limit.scripts';
import type { NamedRule } from '../rules/rule';
import { chargeOf, endOfCharged } from './charges';
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
import { verdictOfWindow, verdictsOf, verdictsOfWindows } from './verdicts';

const CLUSTER_TAGS = 32;

/** Advice of an error of a refund that failed halfway. */
const NO_SECOND_REFUND = 'It cannot be repeated: only the first call for a decision refunds.';

/** Counts hits in Redis, by Redis' clock. */
export class RedisLimiter implements Limiter {
  private readonly keys: LimiterKeys;

  /**
   * @param tags number of hash tags over which the keys are sharded, at least 1. Default: 32 on a Cluster, else 1
   * @param now monotonic clock, ms; the clock of `Budget.calledAtMs`
   */
  constructor(
    private readonly registry: ScriptRegistry,
    tags: number = registry.clustered ? CLUSTER_TAGS : 1,
    private readonly now: () => number = () => time.monotonicMs(),
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
    const groups = groupBy(charged, ({ check }) => String(this.keys.tagOf(check.subject)));
    const refunds = groups.map((group) => this.refundGroup(group, deadlineMs, given));
    await (refunds.length === 1 ? refunds[0] : new Steps('RateLimitService.refund', NO_SECOND_REFUND).all(refunds));
    return given;
  }

  /** Refunds hits of subjects with one hash tag. Stores in `given` how many. */
  private async refundGroup(group: readonly Item<ChargedHits>[], deadlineMs: number, given: number[]): Promise<void> {
    const charges = await this.chargesOf(group, deadlineMs);
    const found = group.filter((_, n) => charges[n] !== undefined);
    if (found.length === 0) return;
    const states = found.map(({ item: { check } }) => this.keys.state(check.rule, check.subject));
    const texts = charges.filter((charge) => charge !== undefined).map(String);
    const rules = found.flatMap(({ item: { check } }, n) => [textOf(check), String(check.cost), texts[n] as string]);
    const refunded = await this.registry.run(refund, { keys: { states }, args: { rules } }, { deadlineMs });
    for (const [n, { at }] of found.entries()) given[at] = refunded[n] ?? 0;
  }

  async reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean> {
    const keys = { state: this.keys.state(rule, subject), penalty: this.keys.penalty(rule, subject) };
    const windowMs = rule.algorithm === 'fixed-window' ? rule.windowMs : 0;
    return (await this.registry.run(reset, { keys, args: { windowMs } }, { deadlineMs })) > 0;
  }

  async block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void> {
    const keys = { state: this.keys.state(rule, subject), penalty: this.keys.penalty(rule, subject) };
    const args = { blockMs, memoryMs: rule.blockEscalation?.memoryMs ?? 0 };
    await this.registry.run(block, { keys, args }, { deadlineMs });
  }

  /**
   * Returns what identifies charged hits, as `chargeOf` does. The scripts for fixed windows read no clock, so that each charge
   * costs less. For their hits, which are seldom refunded, the present windows are read first.
   * See DECISIONS.md: refunds-read-the-window-first
   */
  private async chargesOf(group: readonly Item<ChargedHits>[], deadlineMs: number): Promise<(number | undefined)[]> {
    const charges = group.map(({ item }) => chargeOf(item));
    const unknown = group.flatMap(({ item }, at) => (charges[at] === undefined ? [{ item, at }] : []));
    if (unknown.length === 0) return charges;
    const fromMs = this.now();
    const peeked = await this.run(
      unknown.map(({ item: { check } }) => ({ ...check, cost: 0 })),
      false,
      { deadlineMs },
    );
    const reading = { fromMs, toMs: this.now() };
    for (const [n, { item, at }] of unknown.entries()) {
      charges[at] = endOfCharged(item, peeked.rules[n] as Verdict, reading);
    }
    return charges;
  }

  private consumeFixedWindow(check: Check, budget: Budget): Promise<Verdicts> {
    const { rule, subject, limit, cost } = check;
    const input = { keys: { counter: this.keys.state(rule, subject) }, args: { limit, windowMs: rule.windowMs, cost } };
    return this.registry
      .run(consumeFixedWindow, input, budget)
      .then((reply) =>
        reply === 0
          ? this.run([check], true, budget)
          : verdictOfWindow(check, reply, { fromMs: budget.calledAtMs, toMs: this.now() }),
      );
  }

  private consumeFixedWindows(checks: readonly Check[], budget: Budget): Promise<Verdicts> {
    const counters = checks.map(({ rule, subject }) => this.keys.state(rule, subject));
    const rules = checks.flatMap(({ rule, limit, cost }) => [limit, rule.windowMs, cost]);
    return this.registry
      .run(consumeFixedWindows, { keys: { counters }, args: { rules } }, budget)
      .then((windows) =>
        windows === 0
          ? this.run(checks, true, budget)
          : verdictsOfWindows(checks, windows, { fromMs: budget.calledAtMs, toMs: this.now() }),
      );
  }

  private run(checks: readonly Check[], charge: boolean, budget: Pick<Budget, 'deadlineMs'>): Promise<Verdicts> {
    const keys: string[] = [];
    const rules: string[] = [];
    for (const check of checks) {
      keys.push(this.keys.state(check.rule, check.subject), this.keys.penalty(check.rule, check.subject));
      rules.push(textOf(check), String(check.cost));
    }
    const args = { charge: charge ? 1 : 0, rules };
    return this.registry.run(consume, { keys: { keys }, args }, budget).then(verdictsOf);
  }

  /**
   * Decides checks whose subjects have different hash tags, with one command per hash tag. If a command refuses or fails,
   * tries to refund what the other commands have charged.
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
        if (reserved && !allowed) charged.push({ check, verdict });
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
  if (rule.algorithm !== 'fixed-window' || rule.blockMs !== 0 || rule.shadow || cost === 0 || cost > limit)
    return false;
  // `consume-fixed-window` replies with the hits and the time in one number.
  return (limit + 1) * (rule.windowMs + 1) <= Number.MAX_SAFE_INTEGER;
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

/** An item of an array, and its index there. */
interface Item<T> {
  readonly item: T;
  readonly at: number;
}

function groupBy<T>(items: readonly T[], idOf: (item: T) => string): Item<T>[][] {
  const groups = new Map<string, Item<T>[]>();
  for (const [at, item] of items.entries()) {
    const id = idOf(item);
    const group = groups.get(id);
    if (group) group.push({ item, at });
    else groups.set(id, [{ item, at }]);
  }
  return [...groups.values()];
}
