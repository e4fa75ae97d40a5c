import { Logger, type ExecutionContext } from '@nestjs/common';
import { HttpResponses } from './responses/http-responses';
import { clientOf } from './contexts/client-address';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import { graphqlAdapter } from './contexts/graphql';
import { httpAdapter } from './contexts/http';
import { rpcAdapter, wsAdapter } from './contexts/messages';
import { ProxyWarnings, type ProxiedRequest } from './contexts/proxy-warnings';
import { otherAdapter, WORK_KINDS } from './contexts/other';
import type { Check } from './limiter/limiter.port';
import { events } from './rate-limit.events';
import type { ResolvedRateLimitOptions } from './rate-limit.options';
import type { RateLimitService } from './rate-limit.service';
import type { RateLimitDecision } from './rate-limit.types';
import { PendingDecisions } from './rules/pending-decisions';
import { checkOf, UNKNOWN_SUBJECT } from './rules/evaluate-rule';
import { RoutePlans, type RoutePlan } from './rules/route-rules';
import { keepResult } from './rules/results';
import type { NamedRule } from './rules/rule';

const PROBLEM_TYPE = { 'Content-Type': 'application/problem+json' };

// A mark on the context itself: a WeakSet of all requests costs the collector more than all the rest of a check.
// See DECISIONS.md: guard-marks-the-context
const DECIDED = Symbol('luanest:rate-limit-decided');

/** All guards of a route see one context: a guard that stands there twice decides once. */
type GuardRound = ExecutionContext & { [DECIDED]?: RateLimitEnforcer };

/** What guard and interceptor share: plans, adapters, answers and what one hands to the other. */
export class RateLimitEnforcer {
  readonly plans: RoutePlans;
  private readonly adapters: ReadonlyMap<string, RateLimitContextAdapter>;
  private readonly answers: HttpResponses;
  private readonly proxies: ProxyWarnings | undefined;
  private readonly records = new PendingDecisions();
  private readonly warned = new Set<string>();
  private readonly logger = new Logger('RateLimit');

  constructor(
    private readonly service: RateLimitService,
    private readonly options: ResolvedRateLimitOptions,
  ) {
    this.plans = new RoutePlans(options.rules);
    this.answers = new HttpResponses(options.answers);
    this.proxies = options.proxyWarnings ? new ProxyWarnings() : undefined;
    const known = { http: httpAdapter, graphql: graphqlAdapter, ws: wsAdapter, rpc: rpcAdapter };
    this.adapters = new Map(Object.entries({ ...known, ...options.contexts }));
  }

  /** Decides a call; answers false, or throws what its context answers refusals with, where it is refused. */
  admit(context: ExecutionContext): boolean | Promise<boolean> {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    const round = context as GuardRound;
    if (plan.rules.length === 0 || round[DECIDED] === this) return true;
    round[DECIDED] = this;
    const kind = context.getType<string>();
    const adapter = this.adapters.get(kind) ?? otherAdapter;
    const address = adapter.address(context);
    if (kind === 'http') this.proxies?.look(context.getArgByIndex<ProxiedRequest>(0));
    const client = address === undefined || address === '' ? undefined : clientOf(address, this.options.ipv6Prefix);
    // Most routes: nothing to ask the request for, so nothing to wait for before Redis.
    if (plan.fixed && client !== undefined) {
      return this.decide(
        plan,
        context,
        adapter,
        plan.rules.map((rule) => fixedCheck(rule, client)),
      );
    }
    const rules = this.rulesFor(plan, kind);
    return this.checksOf(rules, context, client, kind).then((checks) => {
      if (checks === undefined) return false;
      return checks.length === 0 ? true : this.decide(plan, context, adapter, checks);
    });
  }

  private decide(
    plan: RoutePlan,
    context: ExecutionContext,
    adapter: RateLimitContextAdapter,
    checks: readonly Check[],
  ): Promise<boolean> {
    return this.service.decide(checks).then((decision) => {
      adapter.setHeaders?.(context, this.answers.headers(decision));
      if (!decision.allowed) throw this.refusalOf(decision, context, adapter);
      const call = adapter.call(context);
      if (call) keepResult(call, context.getHandler(), decision);
      if (!plan.refunds) return true;
      if (adapter.onSent) adapter.onSent(context, (failed) => void this.settle(context, decision, failed));
      else if (call) this.records.put(call, context.getHandler(), decision);
      return true;
    });
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
      events.failed.publish(() => ({ rules: names, policy: 'not-refunded', error: error as Error }));
    }
  }

  /** Work that the app gives itself comes from no client, so the rules of every route are not meant for it. */
  private rulesFor({ rules }: RoutePlan, kind: string): readonly NamedRule[] {
    if (!WORK_KINDS.has(kind) || this.adapters.has(kind)) return rules;
    return rules.filter((rule) => !this.options.rules.includes(rule));
  }

  /** Undefined where a rule has no subject and the options deny that. */
  private async checksOf(
    rules: readonly NamedRule[],
    context: ExecutionContext,
    client: string | undefined,
    kind: string,
  ): Promise<Check[] | undefined> {
    const asked = await Promise.all(rules.map((rule) => checkOf(rule, context, client)));
    const checks = asked.filter((check) => check !== undefined);
    const denied = checks.filter(({ rule, subject }) => subject === UNKNOWN_SUBJECT && this.deniesUnknown(rule, kind));
    return denied.length > 0 ? undefined : checks;
  }

  private refusalOf(decision: RateLimitDecision, context: ExecutionContext, adapter: RateLimitContextAdapter): Error {
    const { status, body, problem } = this.answers.refusal(decision, context);
    if (problem) adapter.setHeaders?.(context, PROBLEM_TYPE);
    return adapter.refusal(context, { decision, status, body });
  }

  /** Returns true if a request without a subject under this rule is refused; reports that it has none. */
  private deniesUnknown(rule: NamedRule, kind: string): boolean {
    const denies = !rule.shadow && this.options.onUnknownSubject === 'deny';
    events.unknownSubject.publish(() => ({ context: kind, rule: rule.name }));
    if (!this.warned.has(rule.name)) {
      this.warned.add(rule.name);
      this.logger.warn(
        `Rule "${rule.name}" has no subject for a request of context "${kind}". Such requests ` +
          `${denies ? 'are refused' : 'share one counter'}. A client that hangs up has no address; if all requests have ` +
          `none, give the rule a subject, the context an adapter, or leave the route out. Logged once per rule.`,
      );
    }
    return denies;
  }
}

function fixedCheck(rule: NamedRule, subject: string): Check {
  return { rule, subject, limit: rule.limit as number, cost: rule.cost as number };
}
