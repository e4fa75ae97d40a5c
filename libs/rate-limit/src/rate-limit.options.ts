import { Checks, type KnownOptions, shown } from '../../internal/src';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import {
  resolveResponses,
  type RateLimitResponseOptions,
  type ResolvedResponseOptions,
} from './responses/responses.options';
import { named, ON_REDIS_ERROR, resolveRule } from './rules/resolve-rule';
import type { NamedRule, RateLimitRule, RedisErrorPolicy } from './rules/rule';

export const RATE_LIMIT_OPTIONS = Symbol('luanest:rate-limit-options');

/** Options of RateLimitModule. */
export interface RateLimitModuleOptions {
  /**
   * Rules of all routes with RateLimitGuard, unless a route replaces or skips a rule; each rule needs a name. They do not apply to
   * stream messages, delayed tasks and cron jobs, unless `contexts` has an adapter for them. Default: no rules.
   */
  readonly rules?: readonly RateLimitRule[];
  /**
   * Policy for requests that Redis does not decide in time. `allow` allows the request, `deny` refuses it (over HTTP with 503),
   * and `local` counts in this process with the same limits. Default `local`.
   */
  readonly onRedisError?: RedisErrorPolicy;
  /** Longest wait for Redis in one request, unless its rules have their own, ms; integer from 1 to 60,000. Default 50. */
  readonly deadlineMs?: number;
  /** Circuit breaker: while Redis fails, requests do not call it. */
  readonly breaker?: {
    /** Consecutive failures that open the breaker; integer from 1 to 1,000,000. Default 5. */
    readonly failures?: number;
    /**
     * Time after a failure in which no request calls Redis, before one tries again, ms; integer from 1 to 3,600,000. Default
     * 1,000.
     */
    readonly openMs?: number;
  };
  /**
   * Caches up to 10,000 refusals in this process, each until the client or user may try again, but for at most 5 s. So a reset
   * or refund by another process takes effect here up to 5 s later. False: no cache. Default true.
   */
  readonly blockCache?: boolean;
  /**
   * Number of hash tags, and so of Cluster slots, that the keys are sharded over; integer from 1 to 1,024. If you change the
   * number, most counters start again at 0. Default: 32 on a Cluster, else 1.
   */
  readonly tags?: number;
  /**
   * Handling of requests without a subject (the counted client or user), for example because the client has hung up. `count`
   * counts all such requests in one counter per rule. `deny` refuses such requests, except under shadow rules; over HTTP, Nest
   * replies 403. Default `count`.
   */
  readonly onUnknownSubject?: 'count' | 'deny';
  /** Number of leading bits of an IPv6 address that identify one client; integer from 32 to 128. Default 56. */
  readonly ipv6Prefix?: number;
  /** Logs warnings, each kind once, if requests suggest that the platform's `trust proxy` is misconfigured. Default true. */
  readonly proxyWarnings?: boolean;
  /** Headers and bodies of HTTP responses. */
  readonly responses?: RateLimitResponseOptions;
  /**
   * Adapters by kind of context (the result of `context.getType()`), for kinds that the guard does not support, or to replace
   * a built-in adapter. Default: only the built-in adapters.
   */
  readonly contexts?: Readonly<Record<string, RateLimitContextAdapter>>;
}

export interface ResolvedRateLimitOptions {
  readonly rules: readonly NamedRule[];
  readonly onRedisError: RedisErrorPolicy;
  readonly deadlineMs: number;
  readonly breaker: { readonly failures: number; readonly openMs: number };
  readonly blockCache: boolean;
  /** Undefined: 32 on a Cluster, else 1. */
  readonly tags: number | undefined;
  readonly onUnknownSubject: 'count' | 'deny';
  readonly ipv6Prefix: number;
  readonly proxyWarnings: boolean;
  readonly responses: ResolvedResponseOptions;
  readonly contexts: Readonly<Record<string, RateLimitContextAdapter>>;
}

const KNOWN: KnownOptions<RateLimitModuleOptions> = {
  rules: true,
  onRedisError: true,
  deadlineMs: true,
  breaker: true,
  blockCache: true,
  tags: true,
  onUnknownSubject: true,
  ipv6Prefix: true,
  proxyWarnings: true,
  responses: true,
  contexts: true,
};
const KNOWN_OF_BREAKER: KnownOptions<ResolvedRateLimitOptions['breaker']> = { failures: true, openMs: true };

function resolveRules(checks: Checks, rules: readonly RateLimitRule[]): NamedRule[] {
  const resolved = (checks.list('rules', rules, 'an array of rules') as RateLimitRule[]).map((rule, i) => {
    const checked = resolveRule(rule, checks.in(`rules[${i}]`));
    if (checked.name !== undefined) return named(checked, checked.name);
    throw checks.error(
      `rules[${i}] has no name. Set its name. Only a rule of @RateLimit() can get its name from the route.`,
    );
  });
  const duplicate = resolved.find(({ name }, i) => resolved.findIndex((other) => other.name === name) !== i);
  if (duplicate) throw checks.error(`rules has two rules named ${shown(duplicate.name)}. Rename one of them.`);
  return resolved;
}

function checkedAdapters(checks: Checks, contexts: Readonly<Record<string, RateLimitContextAdapter>>): typeof contexts {
  for (const [kind, adapter] of Object.entries(checks.object('contexts', contexts))) {
    const where = `contexts[${shown(kind)}]`;
    checks.object(where, adapter, 'an adapter: an object with address(), refusal() and call()');
    for (const method of ['address', 'refusal', 'call'] as const) {
      checks.in(where).fn(method, Reflect.get(adapter, method));
    }
  }
  return Object.freeze({ ...contexts });
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, its value and the allowed values
 */
export function resolveOptions(
  options: RateLimitModuleOptions,
  checks = new Checks('RateLimitModule'),
): ResolvedRateLimitOptions {
  checks.options('', options, KNOWN);
  const { rules = [], onRedisError = 'local', deadlineMs = 50, breaker = {}, blockCache = true, tags } = options;
  const { onUnknownSubject = 'count', ipv6Prefix = 56, proxyWarnings = true, responses = {}, contexts = {} } = options;
  const { failures = 5, openMs = 1_000 } = checks.options('breaker', breaker, KNOWN_OF_BREAKER);
  return Object.freeze({
    rules: Object.freeze(resolveRules(checks, rules)),
    onRedisError: checks.choice('onRedisError', onRedisError, ON_REDIS_ERROR),
    deadlineMs: checks.integer('deadlineMs', deadlineMs, 1, 60_000),
    breaker: Object.freeze({
      failures: checks.integer('breaker.failures', failures, 1, 1_000_000),
      openMs: checks.integer('breaker.openMs', openMs, 1, 3_600_000),
    }),
    blockCache: checks.flag('blockCache', blockCache),
    tags: tags === undefined ? undefined : checks.integer('tags', tags, 1, 1_024),
    onUnknownSubject: checks.choice('onUnknownSubject', onUnknownSubject, ['count', 'deny']),
    ipv6Prefix: checks.integer('ipv6Prefix', ipv6Prefix, 32, 128),
    proxyWarnings: checks.flag('proxyWarnings', proxyWarnings),
    responses: resolveResponses(responses, checks),
    contexts: checkedAdapters(checks, contexts),
  });
}
