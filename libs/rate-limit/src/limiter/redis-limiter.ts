import { ScriptFailedError, type ScriptRegistry } from 'luanest/script-registry';
import { block, consume, consumeFixedWindow, refund, reset } from '../rate-limit.scripts';
import type { NamedRule } from '../rules/rule';
import { LimiterKeys } from './keys';
import { capacityOf, type ChargedHits, type Check, type Limiter, type Verdict, type Verdicts } from './limiter';

/** Counts in Redis, by Redis' clock. */
export class RedisLimiter implements Limiter {
  private readonly keys: LimiterKeys;

  /** @param tags hash tags that subjects are spread over, at least 1 */
  constructor(
    private readonly registry: ScriptRegistry,
    tags: number,
  ) {
    this.keys = new LimiterKeys(registry.keySpace('rate-limit'), tags);
  }

  consume(checks: readonly Check[], charge: boolean, deadlineMs: number): Promise<Verdicts> {
    const first = checks[0] as Check;
    if (checks.length === 1) {
      return charge && isPlain(first)
        ? this.consumeFixedWindow(first, deadlineMs)
        : this.run(checks, charge, deadlineMs);
    }
    const tag = this.keys.tagOf(first.subject);
    if (checks.every(({ subject }) => this.keys.tagOf(subject) === tag)) return this.run(checks, charge, deadlineMs);
    return this.consumeAcrossTags(checks, charge, deadlineMs);
  }

  recover(
    error: unknown,
    checks: readonly Check[],
    charge: boolean,
    deadlineMs: number,
  ): Promise<Verdicts> | undefined {
    // The short script met a counter that holds no integer: blocked, or spoilt by others. Nothing was written.
    const short = charge && checks.length === 1 && isPlain(checks[0] as Check);
    return short && error instanceof ScriptFailedError ? this.run(checks, charge, deadlineMs) : undefined;
  }

  async refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]> {
    const given = new Array<number>(charged.length).fill(0);
    const groups = groupBy(charged, ({ check, chargedUs }) => `${this.keys.tagOf(check.subject)}:${chargedUs}`);
    await Promise.all(
      groups.map(async (group) => {
        const states = group.map(({ item: { check } }) => this.keys.state(check.rule, check.subject));
        const rules = group.flatMap(({ item: { check } }) => [
          check.rule.algorithm,
          ...[check.limit, check.rule.windowMs, check.cost].map(String),
        ]);
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

  private consumeFixedWindow(check: Check, deadlineMs: number): Promise<Verdicts> {
    const { rule, subject, limit, cost } = check;
    const input = { keys: { counter: this.keys.state(rule, subject) }, args: { limit, windowMs: rule.windowMs, cost } };
    return this.registry.run(consumeFixedWindow, input, { deadlineMs });
  }

  private run(checks: readonly Check[], charge: boolean, deadlineMs: number): Promise<Verdicts> {
    const keys = checks.flatMap(({ rule, subject }) => [
      this.keys.state(rule, subject),
      this.keys.penalty(rule, subject),
    ]);
    const args = { charge: charge ? 1 : 0, rules: checks.flatMap(ruleArgs) };
    return this.registry.run(consume, { keys: { keys }, args }, { deadlineMs });
  }

  /** Subjects of several tags share no command: each tag's checks are charged, and given back when another refuses. */
  private async consumeAcrossTags(checks: readonly Check[], charge: boolean, deadlineMs: number): Promise<Verdicts> {
    const groups = groupBy(checks, ({ subject }) => String(this.keys.tagOf(subject)));
    const outcomes = await Promise.allSettled(
      groups.map((group) =>
        this.run(
          group.map(({ item }) => item),
          charge,
          deadlineMs,
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
        rules[at] = reserved && !allowed ? { ...verdict, used: verdict.used - check.cost } : verdict;
      }
    }
    // Nobody waits for it, and what is not given back expires with its window.
    if (charged.length > 0) this.refund(charged, deadlineMs).catch(() => undefined);
    if (failed) throw failed.reason;
    return { allowed, rules };
  }
}

/** Whether the short script says all there is to say of a check. */
function isPlain({ rule, limit, cost }: Check): boolean {
  return rule.algorithm === 'fixed-window' && rule.blockMs === 0 && !rule.shadow && cost > 0 && cost <= limit;
}

function ruleArgs(check: Check): string[] {
  const { rule, limit, cost } = check;
  return [
    rule.algorithm,
    String(limit),
    String(rule.windowMs),
    String(cost),
    String(capacityOf(check)),
    rule.shadow ? 'shadow' : rule.freshAfterBlock ? 'fresh' : '',
    penaltyArg(rule),
  ];
}

function penaltyArg({ blockMs, blockEscalation }: NamedRule): string {
  if (blockMs === 0) return '';
  const { factor = 1, maxMs = blockMs, memoryMs = 0 } = blockEscalation ?? {};
  return `${blockMs}:${factor}:${maxMs}:${memoryMs}`;
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
