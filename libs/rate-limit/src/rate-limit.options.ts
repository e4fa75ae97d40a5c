import { Checks, type KnownOptions, shown } from '../../internal/src';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import {
  resolveResponses,
  type RateLimitResponseOptions,
  type ResolvedResponseOptions,
} from './responses/responses.options';
import { KNOWN_POLICY, named, ON_REDIS_ERROR, resolveRule } from './rules/resolve-rule';
import type { NamedRule, PolicyOptions, RateLimitRule, RedisErrorPolicy } from './rules/rule';

export const RATE_LIMIT_OPTIONS = Symbol('luanest:rate-limit-options');

/** Options for calls to Redis: the longest wait, and what happens if Redis fails. */
export interface RedisCallOptions extends PolicyOptions {
  /**
   * Longest time that one request waits for Redis, ms; integer from 1 to 60,000. After this time, `onRedisError` decides the
   * request. Default 50.
   */
  readonly deadlineMs?: number;
}

/** Options of RateLimitModule. */
export interface RateLimitModuleOptions extends RedisCallOptions {
  /**
   * Rules for all routes that use RateLimitGuard. Each rule needs a name. A route can replace a rule with `@RateLimit()`, or skip
   * a rule with `@SkipRateLimit()`. The rules of the module do not apply to stream messages, delayed tasks and cron jobs, unless
   * `contexts` has an adapter for that kind. Default: no rules.
   */
  readonly rules?: readonly RateLimitRule[];
  /**
   * Handling of requests for which a rule finds no subject (the client or user to count), for example because the client has hung
   * up and has no address. `count`: all such requests share one counter per rule. `deny`: such requests are refused, over HTTP
   * with 403. A shadow rule (a rule that only counts) never refuses them. Default `count`.
   */
  readonly onUnknownSubject?: 'count' | 'deny';
  /** Number of leading bits of an IPv6 address that identify one client; integer from 32 to 128. Default 56. */
  readonly ipv6Prefix?: number;
  /** Settings for the headers and bodies of HTTP responses. */
  readonly responses?: RateLimitResponseOptions;
  /**
   * Adapters that connect the guard to further kinds of execution context. The key is the kind: the result of `context.getType()`, such as
   * `http`. An adapter for `http`, `graphql`, `ws` or `rpc` replaces the built-in adapter. Default: only the built-in adapters.
   */
  readonly contexts?: Readonly<Record<string, RateLimitContextAdapter>>;
}

export interface ResolvedRateLimitOptions {
  readonly rules: readonly NamedRule[];
  readonly onRedisError: RedisErrorPolicy;
  readonly deadlineMs: number;
  readonly onUnknownSubject: 'count' | 'deny';
  readonly ipv6Prefix: number;
  readonly responses: ResolvedResponseOptions;
  readonly contexts: Readonly<Record<string, RateLimitContextAdapter>>;
}

export const KNOWN_REDIS_CALL: KnownOptions<RedisCallOptions> = { ...KNOWN_POLICY, deadlineMs: true };
const KNOWN: KnownOptions<RateLimitModuleOptions> = {
  rules: true,
  ...KNOWN_REDIS_CALL,
  onUnknownSubject: true,
  ipv6Prefix: true,
  responses: true,
  contexts: true,
};

function resolveRules(checks: Checks, rules: readonly RateLimitRule[]): NamedRule[] {
  const resolved = (checks.list('rules', rules, 'an array of rules') as RateLimitRule[]).map((rule, i) => {
    const checked = resolveRule(rule, checks.in(`rules[${i}]`));
    if (checked.name !== undefined) return named(checked, checked.name);
    throw checks.error(
      `rules[${i}] has no name. Set the option \`name\` of this rule. Only a rule of @RateLimit() can get its name from a route.`,
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
  const { rules = [], onRedisError = 'local', deadlineMs = 50 } = options;
  const { onUnknownSubject = 'count', ipv6Prefix = 56, responses = {}, contexts = {} } = options;
  return Object.freeze({
    rules: Object.freeze(resolveRules(checks, rules)),
    onRedisError: checks.choice('onRedisError', onRedisError, ON_REDIS_ERROR),
    deadlineMs: checks.integer('deadlineMs', deadlineMs, 1, 60_000),
    onUnknownSubject: checks.choice('onUnknownSubject', onUnknownSubject, ['count', 'deny']),
    ipv6Prefix: checks.integer('ipv6Prefix', ipv6Prefix, 32, 128),
    responses: resolveResponses(responses, checks),
    contexts: checkedAdapters(checks, contexts),
  });
}
