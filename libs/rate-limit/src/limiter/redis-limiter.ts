import type { KeySpace, ScriptRegistry } from 'luanest/script-registry';
import { evenTags, spread, Steps, time } from '../../../internal/src';
import {
  block,
  consume,
  type Consumed,
  consumeFixedWindow,
  consumeFixedWindows,
  refund,
  reset,
} from '../rate-limit.scripts';
import type { NamedRule } from '../rules/rule';
import {
  blockMemoryMs,
  type Budget,
  capacityOf,
  chargeOf,
  type Check,
  endOfCharged,
  type Limiter,
  refuses,
  type Span,
  subjectPart,
  type Verdict,
} from './decision';

/**
 * Builds the Redis keys for rules and subjects. All keys of a subject have the same hash tag, so that one script can use them on a Cluster.
 * The tags are distributed evenly over the hash slots.
 */
export class LimiterKeys {
  readonly tags: readonly string[];
  private readonly rules = new WeakMap<NamedRule, RuleInRedis>();

  /** @param count number of hash tags, at least 1 */
  constructor(
    readonly space: KeySpace,
    count: number,
  ) {
    this.tags = evenTags(count);
  }

  /** Returns the data that all calls to Redis for a rule share. The first call creates it. */
  of(rule: NamedRule): RuleInRedis {
    const known = this.rules.get(rule);
    if (known !== undefined) return known;
    const made = new RuleInRedis(rule, this);
    this.rules.set(rule, made);
    return made;
  }

  /** Returns the index of a subject's hash tag. One call of a script can decide all rules for subjects with the same index. */
  tagOf(subject: string): number {
    return this.tags.length === 1 ? 0 : spread(subject) % this.tags.length;
  }

  state(rule: NamedRule, subject: string): string {
    return this.of(rule).state(subject);
  }

  penalty(rule: NamedRule, subject: string): string {
    return this.of(rule).penalty(subject);
  }
}

/** Data that all calls to Redis for one rule share, such as key prefixes. */
export class RuleInRedis {
  /**
   * Highest limit for which the fast scripts for fixed windows can decide this rule; 0 if only the script `consume` can. The limit must not
   * be too high, because `consume-fixed-window` returns hits and time in one number.
   * See DECISIONS.md: short-scripts-for-fixed-windows
   */
  readonly mostInWindow: number;
  private readonly states: ((subject: string) => string)[] = [];
  private readonly penalties: ((subject: string) => string)[] = [];
  private text = '';
  private textOf = -1;

  constructor(
    private readonly rule: NamedRule,
    private readonly keys: LimiterKeys,
  ) {
    const isPlain = rule.algorithm === 'fixed-window' && rule.blockMs === 0 && !rule.shadow;
    this.mostInWindow = isPlain ? Math.floor(Number.MAX_SAFE_INTEGER / (rule.windowMs + 1)) - 1 : 0;
  }

  /** Returns true if the fast scripts for fixed windows can decide a request with this limit and cost. */
  fits(limit: number, cost: number): boolean {
    return cost > 0 && cost <= limit && limit <= this.mostInWindow;
  }

  /** Returns the key of a subject's counter. */
  state(subject: string): string {
    const { name, algorithm, windowMs } = this.rule;
    const tag = this.keys.tags.length === 1 ? 0 : this.keys.tagOf(subject);
    // During a rolling deploy, two versions of an app may have different windows for a rule. With one key, the shorter window would also
    // apply to the other version.
    // See DECISIONS.md: window-is-part-of-the-key
    const keyOf = (this.states[tag] ??= this.tagged(tag).series(algorithm, name, String(windowMs)));
    return keyOf(subjectPart(subject));
  }

  /** Returns the key with the block of a subject. */
  penalty(subject: string): string {
    const tag = this.keys.tagOf(subject);
    const keyOf = (this.penalties[tag] ??= this.tagged(tag).series('penalty', this.rule.name));
    return keyOf(subjectPart(subject));
  }

  /** Returns the settings of the rule as one text, in the format of consume.lua. */
  parameters(limit: number): string {
    if (limit !== this.textOf) {
      const { rule } = this;
      const mode = rule.shadow ? 'shadow' : rule.freshAfterBlock ? 'fresh' : '';
      const capacity = capacityOf({ rule, limit });
      this.text = [rule.algorithm, limit, rule.windowMs, capacity, mode, penaltyOf(rule)].join(':');
      this.textOf = limit;
    }
    return this.text;
  }

  private tagged(tag: number): ReturnType<KeySpace['tag']> {
    return this.keys.space.tag(this.keys.tags[tag] as string);
  }
}

function penaltyOf({ blockMs, maxBlockMs }: NamedRule): string {
  return blockMs === 0 ? '' : `${blockMs}:${maxBlockMs}`;
}

const CLUSTER_TAGS = 32;

/** Advice in the error message if only a part of a refund succeeded. */
const NO_SECOND_REFUND =
  'Do not repeat the refund: only the first refund of a decision has an effect. Hits that were not refunded expire.';

/** Counts hits in Redis, by Redis' clock. */
export class RedisLimiter implements Limiter {
  private readonly keys: LimiterKeys;

  /**
   * @param tags number of hash tags over which the keys are sharded, at least 1. Default: 32 on a Cluster, otherwise 1
   * @param now monotonic clock, ms
   */
  constructor(
    readonly registry: ScriptRegistry,
    tags: number = registry.clustered ? CLUSTER_TAGS : 1,
    private readonly now: () => number = () => time.monotonicMs(),
  ) {
    this.keys = new LimiterKeys(registry.keySpace('rate-limit'), tags);
  }

  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<readonly Verdict[]> {
    const check = checks[0] as Check;
    if (checks.length > 1) return this.consumeSeveral(checks, charge, budget);
    const { rule, subject, limit, cost } = check;
    const known = this.keys.of(rule);
    if (!charge || !known.fits(limit, cost)) return this.run(checks, charge, budget);
    const input = { keys: { counter: known.state(subject) }, args: { limit, windowMs: rule.windowMs, cost } };
    return this.registry
      .run(consumeFixedWindow, input, budget)
      .then((reply) =>
        reply === 0
          ? this.run(checks, true, budget)
          : [verdictOfWindow(check, reply, { fromMs: budget.calledAtMs, toMs: this.now() })],
      );
  }

  async refund(charged: readonly Verdict[], deadlineMs: number): Promise<number[]> {
    const given = new Array<number>(charged.length).fill(0);
    const groups = groupBy(charged, ({ check }) => String(this.keys.tagOf(check.subject)));
    const refunds = groups.map((group) => this.refundGroup(group, deadlineMs, given));
    await (refunds.length === 1 ? refunds[0] : new Steps('RateLimitService.refund', NO_SECOND_REFUND).all(refunds));
    return given;
  }

  /** Takes back hits of subjects with the same hash tag. Writes the numbers of refunded hits to `given`. */
  private async refundGroup(group: readonly Item<Verdict>[], deadlineMs: number, given: number[]): Promise<void> {
    const charges = await this.chargesOf(group, deadlineMs);
    const found = group.filter((_, n) => charges[n] !== undefined);
    if (found.length === 0) return;
    const states = found.map(({ item: { check } }) => this.keys.state(check.rule, check.subject));
    const texts = charges.filter((charge) => charge !== undefined).map(String);
    const rules = found.flatMap(({ item: { check } }, n) => [
      this.keys.of(check.rule).parameters(check.limit),
      String(check.cost),
      texts[n] as string,
    ]);
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
    const args = { blockMs, memoryMs: blockMemoryMs(rule) };
    await this.registry.run(block, { keys, args }, { deadlineMs });
  }

  /**
   * Returns the numbers by which a refund finds counted hits. The fast scripts for fixed windows do not read the clock. So before a refund
   * of their hits, which is rare, this method reads the present windows.
   * See DECISIONS.md: refunds-read-the-window-first
   */
  private async chargesOf(group: readonly Item<Verdict>[], deadlineMs: number): Promise<(number | undefined)[]> {
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
      charges[at] = endOfCharged(item, peeked[n] as Verdict, reading);
    }
    return charges;
  }

  private consumeSeveral(checks: readonly Check[], charge: boolean, budget: Budget): Promise<readonly Verdict[]> {
    const tag = this.keys.tagOf((checks[0] as Check).subject);
    if (checks.some(({ subject }) => this.keys.tagOf(subject) !== tag)) {
      return this.consumeAcrossTags(checks, charge, budget);
    }
    if (!charge || !checks.every(({ rule, limit, cost }) => this.keys.of(rule).fits(limit, cost))) {
      return this.run(checks, charge, budget);
    }
    const counters = checks.map(({ rule, subject }) => this.keys.state(rule, subject));
    const rules = checks.flatMap(({ rule, limit, cost }) => [limit, rule.windowMs, cost]);
    return this.registry
      .run(consumeFixedWindows, { keys: { counters }, args: { rules } }, budget)
      .then((reply) =>
        reply === 0
          ? this.run(checks, true, budget)
          : verdictsOfWindows(checks, reply, { fromMs: budget.calledAtMs, toMs: this.now() }),
      );
  }

  private run(
    checks: readonly Check[],
    charge: boolean,
    budget: Pick<Budget, 'deadlineMs'>,
  ): Promise<readonly Verdict[]> {
    const keys: string[] = [];
    const rules: string[] = [];
    for (const check of checks) {
      const known = this.keys.of(check.rule);
      keys.push(known.state(check.subject), known.penalty(check.subject));
      rules.push(known.parameters(check.limit), String(check.cost));
    }
    const args = { charge: charge ? 1 : 0, rules };
    return this.registry.run(consume, { keys: { keys }, args }, budget).then((reply) => verdictsOf(checks, reply));
  }

  /**
   * Decides a request whose rules count subjects with different hash tags, with one command per tag. If one of them refuses or fails, tries
   * to refund what the others have counted.
   */
  private async consumeAcrossTags(
    checks: readonly Check[],
    charge: boolean,
    budget: Budget,
  ): Promise<readonly Verdict[]> {
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
    const replies = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const refused = replies.map((reply) => reply.some(refuses));
    const isRefused = failed !== undefined || refused.includes(true);
    const verdicts: Verdict[] = [];
    const charged: Verdict[] = [];
    for (const [n, group] of groups.entries()) {
      for (const [i, verdict] of (replies[n] as readonly Verdict[]).entries()) {
        const isCharged = charge && refused[n] === false && verdict.verdict === 0 && verdict.check.cost > 0;
        if (isCharged && isRefused) charged.push(verdict);
        verdicts[(group[i] as Item<Check>).at] = isCharged && isRefused ? withoutCharge(verdict) : verdict;
      }
    }
    // Nobody waits for this refund, and its error is ignored: hits that are not refunded expire.
    if (charged.length > 0) this.refund(charged, budget.deadlineMs).catch(() => undefined);
    if (failed) throw failed.reason;
    return verdicts;
  }
}

/** Takes refunded hits off a result. The times stay as they were, unless no hits are left; then they are 0. */
function withoutCharge(verdict: Verdict): Verdict {
  const used = verdict.used - verdict.check.cost;
  return used > 0 ? { ...verdict, used } : { ...verdict, used, resetMs: 0, nextMs: 0 };
}

export function verdictsOf(checks: readonly Check[], decisions: Consumed): readonly Verdict[] {
  const at = decisions[1] as number;
  return checks.map((check, n) => {
    const [verdict, used, resetMs, nextMs] = decisions.slice(4 * n + 2, 4 * n + 6) as [number, number, number, number];
    return { check, verdict, used, resetMs, retryMs: verdict === 0 ? 0 : nextMs, nextMs, at };
  });
}

export function verdictOfWindow(
  check: Check,
  reply: number | readonly [used: number, resetMs: number],
  at: Span,
): Verdict {
  if (typeof reply === 'number') {
    const { windowMs } = check.rule;
    const resetMs = reply % (windowMs + 1);
    const used = (reply - resetMs) / (windowMs + 1);
    return { check, verdict: 0, used, resetMs, retryMs: 0, nextMs: resetMs, at };
  }
  const [used, resetMs] = reply;
  return { check, verdict: 1, used, resetMs, retryMs: resetMs, nextMs: resetMs, at };
}

/** Converts the reply of the script `consumeFixedWindows`. The script has counted the request under all rules or under none. */
export function verdictsOfWindows(checks: readonly Check[], windows: readonly number[], at: Span): readonly Verdict[] {
  const allowed = checks.every(({ limit }, i) => (windows[2 * i] as number) <= limit);
  return checks.map((check, i): Verdict => {
    const { limit, cost } = check;
    const [withOwn, leftMs] = [windows[2 * i] as number, windows[2 * i + 1] as number];
    const over = withOwn > limit;
    const used = allowed ? withOwn : withOwn - cost;
    const resetMs = used > 0 ? leftMs : 0;
    const times = { resetMs, retryMs: over ? leftMs : 0, nextMs: over ? leftMs : resetMs };
    return { check, verdict: over ? 1 : 0, used, ...times, at };
  });
}

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
