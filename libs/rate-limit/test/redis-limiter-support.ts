import { FakeRegistry } from '../../../test/support/fake-registry';
import { Checks, spread } from '../../internal/src';
import type { Check, Verdict } from '../src/limiter/decision';
import { RedisLimiter } from '../src/limiter/redis-limiter';
import { named, resolveRule } from '../src/rules/resolve-rule';
import type { RateLimitRule } from '../src/rules/rule';

export const BUDGET = { calledAtMs: 100, startedAtMs: 100, deadlineMs: 50 };

export function check(options: Partial<RateLimitRule> = {}, parts: Partial<Check> = {}): Check {
  const rule = named(resolveRule({ limit: 5, windowMs: 1_000, ...options }, new Checks('Test')), options.name ?? 'r');
  return { rule, subject: 'u', limit: 5, cost: 1, ...parts };
}

export function open(tags?: number) {
  const registry = new FakeRegistry();
  let now = 100;
  const limiter = new RedisLimiter(registry.asRegistry, tags, () => (now += 1));
  /** Scripts that were called, without the name of the lib. */
  const scripts = () => registry.scripts.map((name) => name.replace('rate-limit.', ''));
  return { registry, limiter, scripts };
}

/** Two subjects whose hash tags differ, of two. */
export const OTHER = ['v', 'w', 'x', 'y', 'z'].find((subject) => spread(subject) % 2 !== spread('u') % 2) as string;

export const verdict = (parts: Partial<Verdict> = {}): Verdict => ({
  ...{ check: check(), verdict: 0, used: 1, resetMs: 900, retryMs: 0, nextMs: 900, at: 5_000_000 },
  ...parts,
});
