import { Logger, type ExecutionContext } from '@nestjs/common';
import { clientOf } from './contexts/client-address';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import { graphqlAdapter } from './contexts/graphql';
import { httpAdapter } from './contexts/http';
import { rpcAdapter, wsAdapter } from './contexts/messages';
import { otherAdapter, WORK_KINDS } from './contexts/other';
import { ProxyWarnings, type ProxiedRequest } from './contexts/proxy-warnings';
import type { Check } from './limiter/limiter.port';
import type { ResilientLimiter } from './limiter/resilient-limiter';
import { events } from './rate-limit.events';
import type { ResolvedRateLimitOptions } from './rate-limit.options';
import type { RateLimitDecision } from './rate-limit.types';
import { HttpResponses } from './responses/http-responses';
import { evaluateRule, UNKNOWN_SUBJECT } from './rules/evaluate-rule';
import { PendingDecisions } from './rules/pending-decisions';
import { keepResult } from './rules/results';
import { RoutePlans, type RoutePlan } from './rules/route-rules';
import type { NamedRule } from './rules/rule';

const PROBLEM_TYPE = { 'Content-Type': 'application/problem+json' };

// A property of the context, because a WeakSet of all requests costs the garbage collector more than the rest of a check.
// See DECISIONS.md: guard-marks-the-context
const DECIDED = Symbol('luanest:rate-limit-decided');

/** Context of a request. All guards of a route get the same object, so a guard that is applied twice decides once. */
type MarkedContext = ExecutionContext & { [DECIDED]?: RateLimitEnforcer };

/** Enforces the rules of routes, for the guard and the interceptor. */
export class RateLimitEnforcer {
  readonly plans: RoutePlans;
  private readonly adapters: ReadonlyMap<string, RateLimitContextAdapter>;
  private readonly responses: HttpResponses;
  private readonly proxies: ProxyWarnings | undefined;
  private readonly pending = new PendingDecisions();
  /** Names of rules whose missing subject has been logged. */
  private readonly warned = new Set<string>();
  private readonly logger = new Logger('RateLimit');

  constructor(
    private readonly limiter: ResilientLimiter,
    private readonly options: ResolvedRateLimitOptions,
  ) {
    this.plans = new RoutePlans(options.rules);
    this.responses = new HttpResponses(options.responses);
    this.proxies = options.proxyWarnings ? new ProxyWarnings() : undefined;
    const builtIn = { http: httpAdapter, graphql: graphqlAdapter, ws: wsAdapter, rpc: rpcAdapter };
    this.adapters = new Map(Object.entries({ ...builtIn, ...options.contexts }));
  }

  /**
   * Decides a request and sets its headers. Returns false if it is refused because it has no subject.
   *
   * @throws the error of the context's adapter if a rule refuses the request
   */
  admit(context: ExecutionContext): boolean | Promise<boolean> {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    const marked = context as MarkedContext;
    if (plan.rules.length === 0 || marked[DECIDED] === this) return true;
    marked[DECIDED] = this;
    const kind = context.getType<string>();
    const adapter = this.adapters.get(kind) ?? otherAdapter;
    const address = adapter.address(context);
    if (kind === 'http') this.proxies?.inspect(context.getArgByIndex<ProxiedRequest>(0));
    const client = address === undefined || address === '' ? undefined : clientOf(address, this.options.ipv6Prefix);
    // On most routes no rule has a function, so there is nothing to wait for before the call to Redis.
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
    return this.limiter.decide(checks, true).then((decision) => {
      adapter.setHeaders?.(context, this.responses.headers(decision));
      if (!decision.allowed) throw this.refusalOf(decision, context, adapter);
      const call = adapter.call(context);
      if (call) keepResult(call, context.getHandler(), decision);
      if (!plan.refunds) return true;
      if (adapter.onSent) adapter.onSent(context, (failed) => void this.settle(context, decision, failed));
      else if (call) this.pending.add(call, context.getHandler(), decision);
      return true;
    });
  }

  /** Returns, once, the guard's decision of a call whose outcome may cause a refund; else undefined. */
  takeDecision(context: ExecutionContext): RateLimitDecision | undefined {
    if (!this.plans.of(context.getClass(), context.getHandler()).refunds) return undefined;
    const call = this.adapters.get(context.getType<string>())?.call(context);
    return call && this.pending.take(call, context.getHandler());
  }

  /** Refunds hits to the rules that do not count this outcome. Never rejects; a failed refund is published as an event. */
  async settle(context: ExecutionContext, decision: RateLimitDecision, failed: boolean): Promise<void> {
    const { rules } = this.plans.of(context.getClass(), context.getHandler());
    const names = rules.filter(({ count }) => count === (failed ? 'successes' : 'failures')).map(({ name }) => name);
    if (names.length === 0) return;
    try {
      await this.limiter.refund(decision, ({ rule }) => names.includes(rule.name));
    } catch (error) {
      events.redisFailed.publish(() => ({ rules: names, policy: 'not-refunded', error }));
    }
  }

  /** Returns the rules of a plan. Tasks, jobs and stream messages come from no client, so the module's rules do not apply. */
  private rulesFor({ rules }: RoutePlan, kind: string): readonly NamedRule[] {
    if (!WORK_KINDS.has(kind) || this.adapters.has(kind)) return rules;
    return rules.filter((rule) => !this.options.rules.includes(rule));
  }

  /** Returns the checks of a request; undefined if a rule has no subject and `onUnknownSubject` is `deny`. */
  private async checksOf(
    rules: readonly NamedRule[],
    context: ExecutionContext,
    client: string | undefined,
    kind: string,
  ): Promise<Check[] | undefined> {
    const evaluated = await Promise.all(rules.map((rule) => evaluateRule(rule, context, client)));
    const checks = evaluated.filter((check) => check !== undefined);
    // Not `some`: each rule without a subject is reported.
    const denied = checks.filter(({ rule, subject }) => subject === UNKNOWN_SUBJECT && this.deniesUnknown(rule, kind));
    return denied.length > 0 ? undefined : checks;
  }

  private refusalOf(decision: RateLimitDecision, context: ExecutionContext, adapter: RateLimitContextAdapter): Error {
    const { status, body, problem } = this.responses.refusal(decision, context);
    if (problem) adapter.setHeaders?.(context, PROBLEM_TYPE);
    return adapter.refusal(context, { decision, status, body });
  }

  /** Reports a request without a subject. Returns true if it is refused. */
  private deniesUnknown(rule: NamedRule, kind: string): boolean {
    const denies = !rule.shadow && this.options.onUnknownSubject === 'deny';
    events.subjectUnknown.publish(() => ({ context: kind, rule: rule.name }));
    if (!this.warned.has(rule.name)) {
      this.warned.add(rule.name);
      this.logger.warn(
        `Rule "${rule.name}" has no subject for a request of context "${kind}". Such requests ` +
          `${denies ? 'are refused' : 'share one counter'}. A client that hangs up has no address. If no request has a ` +
          `subject, set the rule's subject, add an adapter for the context, or skip the route. Logged once per rule.`,
      );
    }
    return denies;
  }
}

/** Returns the check of a rule without functions. */
function fixedCheck(rule: NamedRule, subject: string): Check {
  return { rule, subject, limit: rule.limit as number, cost: rule.cost as number };
}
