import { Logger, type ExecutionContext } from '@nestjs/common';
import { Answers } from './answers/answers';
import { clientOf } from './contexts/client-address';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import { graphqlAdapter } from './contexts/graphql';
import { httpAdapter } from './contexts/http';
import { rpcAdapter, wsAdapter } from './contexts/messages';
import type { Check } from './limiter/limiter';
import { publish } from './rate-limit.events';
import type { ResolvedRateLimitOptions } from './rate-limit.options';
import type { RateLimitService } from './rate-limit.service';
import type { RateLimitDecision } from './rate-limit.types';
import { CallRecords } from './rules/call-records';
import { checkOf } from './rules/request-checks';
import { RoutePlans, type RoutePlan } from './rules/route-rules';
import type { NamedRule } from './rules/rule';

/** What guard and interceptor share: plans, adapters, answers and what one hands to the other. */
export class RateLimitEdge {
  readonly plans: RoutePlans;
  private readonly adapters: ReadonlyMap<string, RateLimitContextAdapter>;
  private readonly answers: Answers;
  private readonly records = new CallRecords();
  /** Guard rounds that were decided: a guard that stands on a route twice decides once. */
  private readonly decided = new WeakSet<ExecutionContext>();
  private readonly warned = new Set<string>();
  private readonly logger = new Logger('RateLimit');

  constructor(
    private readonly service: RateLimitService,
    private readonly options: ResolvedRateLimitOptions,
  ) {
    this.plans = new RoutePlans(options.rules);
    this.answers = new Answers(options.answers);
    const known = { http: httpAdapter, graphql: graphqlAdapter, ws: wsAdapter, rpc: rpcAdapter };
    this.adapters = new Map(Object.entries({ ...known, ...options.contexts }));
  }

  /** Decides a call; answers false, or throws what its context answers refusals with, where it is refused. */
  async admit(context: ExecutionContext): Promise<boolean> {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    if (plan.rules.length === 0 || this.decided.has(context)) return true;
    this.decided.add(context);
    const kind = context.getType<string>();
    const adapter = this.adapters.get(kind);
    if (adapter === undefined) return plan.rules.every((rule) => this.unknown(rule, kind));
    const checks = await this.checksOf(plan, context, adapter, kind);
    if (checks === undefined) return false;
    if (checks.length === 0) return true;
    const decision = await this.service.decide(checks);
    adapter.setHeaders?.(context, this.answers.headers(decision));
    if (!decision.allowed) throw this.refusalOf(decision, context, adapter);
    if (plan.refunds) {
      const call = adapter.call(context);
      if (call) this.records.put(call, context.getHandler(), decision);
    }
    return true;
  }

  /** Takes what the guard decided of a call whose outcome may give hits back. */
  takeDecision(context: ExecutionContext): RateLimitDecision | undefined {
    if (!this.plans.of(context.getClass(), context.getHandler()).refunds) return undefined;
    const call = this.adapters.get(context.getType<string>())?.call(context);
    return call && this.records.take(call, context.getHandler());
  }

  /** Gives hits back to the rules that count other outcomes. Never rejects. */
  async settle(context: ExecutionContext, decision: RateLimitDecision, failed: boolean): Promise<void> {
    const { rules } = this.plans.of(context.getClass(), context.getHandler());
    const names = rules.filter(({ count }) => count === (failed ? 'successes' : 'failures')).map(({ name }) => name);
    if (names.length === 0) return;
    try {
      await this.service.refund(decision, names);
    } catch (error) {
      publish('failed', () => ({ rules: names, policy: 'not-refunded', error: error as Error }));
    }
  }

  /** Whether a call ended badly that threw nothing. */
  endedBadly(context: ExecutionContext): boolean {
    return (this.adapters.get(context.getType<string>())?.status?.(context) ?? 200) >= 400;
  }

  /** Undefined where a rule has no subject and the options deny that. */
  private async checksOf(
    plan: RoutePlan,
    context: ExecutionContext,
    adapter: RateLimitContextAdapter,
    kind: string,
  ): Promise<Check[] | undefined> {
    const address = adapter.address(context);
    const client = address === undefined ? undefined : clientOf(address, this.options.ipv6Prefix);
    if (plan.fixed && client !== undefined && client !== '') {
      return plan.rules.map((rule) => ({
        rule,
        subject: client,
        limit: rule.limit as number,
        cost: rule.cost as number,
      }));
    }
    const checks: Check[] = [];
    const answers = await Promise.all(plan.rules.map((rule) => checkOf(rule, context, client)));
    for (const [i, answer] of answers.entries()) {
      if (answer === 'skipped') continue;
      if (answer !== 'unknown') checks.push(answer);
      else if (!this.unknown(plan.rules[i] as NamedRule, kind)) return undefined;
    }
    return checks;
  }

  private refusalOf(decision: RateLimitDecision, context: ExecutionContext, adapter: RateLimitContextAdapter): Error {
    const { status, body, problem } = this.answers.refusal(decision, context);
    if (problem) adapter.setHeaders?.(context, { 'Content-Type': 'application/problem+json' });
    return adapter.refusal(context, { decision, status, body });
  }

  /** Whether a rule lets a request pass of which nobody can tell whose it is. */
  private unknown(rule: NamedRule, kind: string): boolean {
    const passes = rule.shadow || this.options.onUnknownSubject === 'allow';
    publish('unknownSubject', () => ({ context: kind, rule: rule.name }));
    if (!this.warned.has(rule.name)) {
      this.warned.add(rule.name);
      this.logger.warn(
        `Rule "${rule.name}" has no subject for a request of context "${kind}", which is ${passes ? 'let through' : 'refused'}. Give the rule a subject, the context an adapter, or leave the route out. Told once.`,
      );
    }
    return passes;
  }
}
