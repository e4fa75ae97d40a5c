import { Checks, type KnownOptions, shown } from '../../internal/src';
import { resolveResponses, type RateLimitResponseOptions, type ResolvedResponseOptions } from './responses/responses.options';
import type { RateLimitContextAdapter } from './contexts/context-adapter';
import { MAX_DURATION_MS, named, ON_REDIS_ERROR, resolveRule } from './rules/resolve-rule';
import type { NamedRule, RateLimitRule, RedisErrorPolicy } from './rules/rule';

/** Options of RateLimitModule. */
export interface RateLimitModuleOptions {
  /** Rules of every route that the guard is on; each has a name. Default none. */
  readonly rules?: readonly RateLimitRule[];
  /** What is done with a request that Redis could not decide in time. Default `local`. */
  readonly onRedisError?: RedisErrorPolicy;
  /** Longest wait for Redis in one check, ms; integer of 1 to 60,000. Default 50. */
  readonly deadlineMs?: number;
  /** When Redis is no longer asked, and for how long. */
  readonly breaker?: {
    /** Failures in a row that stop the asking; integer of 1 to 1,000,000. Default 5. */
    readonly failures?: number;
    /** How long nobody asks before one request tries again, ms; integer of 1 to 3,600,000. Default 1,000. */
    readonly openMs?: number;
  };
  /** How refusals are remembered in this process. */
  readonly blockCache?: {
    /** Refusals that are kept; integer of 0 (none) to 10,000,000. Default 10,000. */
    readonly maxSubjects?: number;
    /** Longest time that one is trusted: what a reset by another process may lag behind, ms; integer of 1. Default 5,000. */
    readonly maxMs?: number;
  };
  /** Subjects that this process counts by itself while Redis is away; integer of 1 to 10,000,000. Default 10,000. */
  readonly localSubjects?: number;
  /**
   * Hash tags that subjects are spread over; integer of 1 to 1,024. Another number starts all counters afresh. Default 32
   * on a Cluster, 1 elsewhere.
   */
  readonly tags?: number;
  /**
   * What is done with a request that has no subject under a rule, such as one whose client has hung up: `count` counts all
   * of them together, in one counter of the rule; `deny` refuses them. Default `count`.
   */
  readonly onUnknownSubject?: 'count' | 'deny';
  /** Leading bits of an IPv6 address that make one client; integer of 32 to 128. Default 56. */
  readonly ipv6Prefix?: number;
  /** Logs a warning, once of each kind, where requests show that proxies are set up wrongly. Default true. */
  readonly proxyWarnings?: boolean;
  /** What answers say of the limits. */
  readonly answers?: RateLimitResponseOptions;
  /** Adapters for further kinds of context, or in place of the lib's own, by Nest's name of the kind. Default none. */
  readonly contexts?: Readonly<Record<string, RateLimitContextAdapter>>;
}

/** Options with every default filled in. */
export interface ResolvedRateLimitOptions {
  readonly rules: readonly NamedRule[];
  readonly onRedisError: RedisErrorPolicy;
  readonly deadlineMs: number;
  readonly breaker: { readonly failures: number; readonly openMs: number };
  readonly blockCache: { readonly maxSubjects: number; readonly maxMs: number };
  readonly localSubjects: number;
  /** Undefined: by the kind of Redis. */
  readonly tags: number | undefined;
  readonly onUnknownSubject: 'count' | 'deny';
  readonly ipv6Prefix: number;
  readonly proxyWarnings: boolean;
  readonly answers: ResolvedResponseOptions;
  readonly contexts: Readonly<Record<string, RateLimitContextAdapter>>;
}

const MAX_SUBJECTS = 10_000_000;
const KNOWN: KnownOptions<RateLimitModuleOptions> = {
  rules: true,
  onRedisError: true,
  deadlineMs: true,
  breaker: true,
  blockCache: true,
  localSubjects: true,
  tags: true,
  onUnknownSubject: true,
  ipv6Prefix: true,
  proxyWarnings: true,
  answers: true,
  contexts: true,
};
const KNOWN_OF_BREAKER: KnownOptions<ResolvedRateLimitOptions['breaker']> = { failures: true, openMs: true };
const KNOWN_OF_CACHE: KnownOptions<ResolvedRateLimitOptions['blockCache']> = { maxSubjects: true, maxMs: true };

function resolveRules(checks: Checks, rules: readonly RateLimitRule[]): NamedRule[] {
  const resolved = (checks.list('rules', rules, 'an array of rules') as RateLimitRule[]).map((rule, i) => {
    const checked = resolveRule(rule, checks.in(`rules[${i}]`));
    if (checked.name !== undefined) return named(checked, checked.name);
    throw checks.error(`rules[${i}] has no name. All routes share the rule, so set its name.`);
  });
  const twice = resolved.find(({ name }, i) => resolved.findIndex((other) => other.name === name) !== i);
  if (twice) throw checks.error(`rules has two rules named ${shown(twice.name)}. Rename one of them.`);
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
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(
  options: RateLimitModuleOptions,
  checks = new Checks('RateLimitModule'),
): ResolvedRateLimitOptions {
  checks.options('', options, KNOWN);
  const { rules = [], onRedisError = 'local', deadlineMs = 50, breaker = {}, blockCache = {} } = options;
  const { localSubjects = 10_000, tags, onUnknownSubject = 'count', ipv6Prefix = 56 } = options;
  const { answers = {}, contexts = {}, proxyWarnings = true } = options;
  const { failures = 5, openMs = 1_000 } = checks.options('breaker', breaker, KNOWN_OF_BREAKER);
  const { maxSubjects = 10_000, maxMs = 5_000 } = checks.options('blockCache', blockCache, KNOWN_OF_CACHE);
  return Object.freeze({
    rules: Object.freeze(resolveRules(checks, rules)),
    onRedisError: checks.choice('onRedisError', onRedisError, ON_REDIS_ERROR),
    deadlineMs: checks.integer('deadlineMs', deadlineMs, 1, 60_000),
    breaker: Object.freeze({
      failures: checks.integer('breaker.failures', failures, 1, 1_000_000),
      openMs: checks.integer('breaker.openMs', openMs, 1, 3_600_000),
    }),
    blockCache: Object.freeze({
      maxSubjects: checks.integer('blockCache.maxSubjects', maxSubjects, 0, MAX_SUBJECTS),
      maxMs: checks.integer('blockCache.maxMs', maxMs, 1, MAX_DURATION_MS),
    }),
    localSubjects: checks.integer('localSubjects', localSubjects, 1, MAX_SUBJECTS),
    tags: tags === undefined ? undefined : checks.integer('tags', tags, 1, 1_024),
    onUnknownSubject: checks.choice('onUnknownSubject', onUnknownSubject, ['count', 'deny']),
    ipv6Prefix: checks.integer('ipv6Prefix', ipv6Prefix, 32, 128),
    proxyWarnings: checks.flag('proxyWarnings', proxyWarnings),
    answers: resolveResponses(answers, checks),
    contexts: checkedAdapters(checks, contexts),
  });
}
