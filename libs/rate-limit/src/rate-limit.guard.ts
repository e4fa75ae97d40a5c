import { type CanActivate, type ExecutionContext, Injectable, Logger, Optional } from '@nestjs/common';
import { CONSOLE, provided } from '../../internal/src';
import { otherAdapter, type RateLimitContextAdapter, WORK_KINDS } from './contexts/context-adapter';
import { graphqlAdapter } from './contexts/graphql';
import { clientOf, httpAdapter, type ProxiedRequest, ProxyWarnings } from './contexts/http';
import { rpcAdapter, wsAdapter } from './contexts/messages';
import { Check } from './limiter/decision';
import { events } from './rate-limit.events';
import type { ResolvedRateLimitOptions } from './rate-limit.options';
import type { RateLimitService } from './rate-limit.service';
import type { RateLimitCheck, RateLimitDecision } from './rate-limit.types';
import { HttpResponses } from './responses/http-responses';
import { evaluateRule, UNKNOWN_SUBJECT } from './rules/evaluate-rule';
import { keepResult, PendingDecisions } from './rules/results';
import { type RoutePlan, RoutePlans } from './rules/route-rules';
import type { NamedRule } from './rules/rule';

const PROBLEM_TYPE = { 'Content-Type': 'application/problem+json' };

// Marks the context of a request that was decided, so that a guard which is applied twice does not count the request twice. A WeakSet of
// all requests would slow down garbage collection, so the mark is a property.
// See DECISIONS.md: guard-marks-the-context
const DECIDED = Symbol('luanest:rate-limit-decided');

/** Execution context with the enforcer that has decided its request. All guards of a route get the same context object. */
type MarkedContext = ExecutionContext & { [DECIDED]?: RateLimitEnforcer };

/** Does the work of RateLimitGuard: finds the rules of a request, gets a decision, and allows or refuses the request. */
export class RateLimitEnforcer {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'RateLimitEnforcer';

  readonly plans: RoutePlans;
  private readonly adapters: ReadonlyMap<string, RateLimitContextAdapter>;
  private readonly responses: HttpResponses;
  private readonly proxies = new ProxyWarnings();
  private readonly pending = new PendingDecisions();
  /** Names of the rules for which a missing subject (client or user to count) was logged. */
  private readonly warned = new Set<string>();
  private readonly logger = new Logger('RateLimit');

  constructor(
    private readonly service: RateLimitService,
    private readonly options: ResolvedRateLimitOptions,
  ) {
    this.plans = new RoutePlans(options.rules);
    this.responses = new HttpResponses(options.responses);
    const builtIn = { http: httpAdapter, graphql: graphqlAdapter, ws: wsAdapter, rpc: rpcAdapter };
    this.adapters = new Map(Object.entries({ ...builtIn, ...options.contexts }));
  }

  /**
   * Decides a request and sets the headers of its response.
   *
   * @returns true if the request is allowed; false if a rule other than a shadow rule finds no subject and `onUnknownSubject` is `deny`
   * @throws the adapter's error if the request is refused; InvalidInputError if a function of a rule returned an invalid value; the errors
   *   of functions of rules, of `responses` and of adapters
   */
  admit(context: ExecutionContext): boolean | Promise<boolean> {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    const marked = context as MarkedContext;
    if (plan.rules.length === 0 || marked[DECIDED] === this) return true;
    marked[DECIDED] = this;
    const kind = context.getType<string>();
    const adapter = this.adapters.get(kind) ?? otherAdapter;
    const address = adapter.address(context);
    if (kind === 'http') this.proxies.inspect(context.getArgByIndex<ProxiedRequest>(0));
    const client = address === undefined || address === '' ? undefined : clientOf(address, this.options.ipv6Prefix);
    // Without functions in the rules, no promise is needed before the call to Redis.
    if (plan.fixed && client !== undefined) {
      return this.decide(
        plan,
        context,
        adapter,
        plan.rules.map((rule) => new Check(rule, client, rule.limit as number, rule.cost as number)),
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
    return this.service.consume(checks as RateLimitCheck[]).then((decision) => {
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

  /** Takes the decision that the guard has stored for a refund after the call, and returns it; undefined if there is none. */
  takeDecision(context: ExecutionContext): RateLimitDecision | undefined {
    if (!this.plans.of(context.getClass(), context.getHandler()).refunds) return undefined;
    const call = this.adapters.get(context.getType<string>())?.call(context);
    return call && this.pending.take(call, context.getHandler());
  }

  /**
   * Refunds the hits of a call that has ended, under the rules that should not count it (option `count`). Never rejects: a failure is
   * published as an event.
   *
   * @param failed true if the handler threw, or the HTTP status is 400 or above
   */
  async settle(context: ExecutionContext, decision: RateLimitDecision, failed: boolean): Promise<void> {
    const { rules } = this.plans.of(context.getClass(), context.getHandler());
    const names = rules.filter(({ count }) => count === (failed ? 'successes' : 'failures')).map(({ name }) => name);
    if (names.length === 0) return;
    try {
      await this.service.refund(decision, names);
    } catch (error) {
      events.redisFailed.publish(() => ({ rules: names, policy: 'not-refunded', error }));
    }
  }

  /**
   * Returns the rules that apply to this kind of context. The module's rules are meant for requests. They do not apply to delayed tasks,
   * cron jobs and stream messages, unless the app has an adapter for that kind.
   */
  private rulesFor({ rules }: RoutePlan, kind: string): readonly NamedRule[] {
    if (!WORK_KINDS.has(kind) || this.adapters.has(kind)) return rules;
    return rules.filter((rule) => !this.options.rules.includes(rule));
  }

  /** Returns the rules of a request with their subjects; undefined if the request is refused because a rule finds no subject. */
  private async checksOf(
    rules: readonly NamedRule[],
    context: ExecutionContext,
    client: string | undefined,
    kind: string,
  ): Promise<Check[] | undefined> {
    const evaluated = await Promise.all(rules.map((rule) => evaluateRule(rule, context, client)));
    const checks = evaluated.filter((check) => check !== undefined);
    // `some` would stop at the first rule without a subject, but each such rule must be reported.
    const denied = checks.filter(({ rule, subject }) => subject === UNKNOWN_SUBJECT && this.deniesUnknown(rule, kind));
    return denied.length > 0 ? undefined : checks;
  }

  private refusalOf(decision: RateLimitDecision, context: ExecutionContext, adapter: RateLimitContextAdapter): Error {
    const { status, body, problem } = this.responses.refusal(decision, context);
    if (problem) adapter.setHeaders?.(context, PROBLEM_TYPE);
    return adapter.refusal(context, { decision, status, body });
  }

  /** Reports that a rule finds no subject for a request. Returns true if the request must be refused for this reason. */
  private deniesUnknown(rule: NamedRule, kind: string): boolean {
    const denies = !rule.shadow && this.options.onUnknownSubject === 'deny';
    events.subjectUnknown.publish(() => ({ context: kind, rule: rule.name }));
    if (!this.warned.has(rule.name)) {
      this.warned.add(rule.name);
      this.logger.warn(
        `Rule "${rule.name}" found no subject (the id or address to count) in a request of context "${kind}". Requests ` +
          `without a subject ${denies ? 'are refused' : 'share one counter of the rule'}. This is normal for a client that has ` +
          `disconnected. If it happens often, set the option subject of the rule to a function that always returns text, or put ` +
          `@SkipRateLimit() on the route. Logged once per rule.`,
      );
    }
    return denies;
  }
}

/**
 * Allows or refuses a request by the rules of its route: the rules of the module, of the class and of the method.
 *
 * The guard works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices. If the guard is applied to a
 * route twice, each request is counted once.
 *
 * A guard of the app can extend this class. Such a guard must not have a constructor: inject its dependencies into properties.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private readonly enforcer: RateLimitEnforcer;

  /** @throws SetupError if the app does not import RateLimitModule */
  constructor(@Optional() enforcer?: RateLimitEnforcer) {
    this.enforcer = provided(enforcer, new.target.name, 'RateLimitModule.forRoot({})');
  }

  /**
   * Decides a request.
   *
   * @returns true if the request is allowed; false (over HTTP, Nest then replies 403) if a rule that is not a shadow rule finds no
   * client or user to count and `onUnknownSubject` is `deny`
   * @throws the error of the refusal: RateLimitException, for WebSocket messages WsException, for message patterns RpcException, or
   * the error of the app's own adapter; InvalidInputError if a function of a rule returned an invalid value; what a function of
   * a rule, of the option `responses` or of an adapter throws
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.admit(context);
  }
}
