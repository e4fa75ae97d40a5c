import { checkOptions, InvalidOptionError, isIntegerOf, type KnownOptions, shown } from '../../../internal/src';
import type { BlockEscalation, NamedRule, RateLimitRule, ResolvedRule } from './rule';

const DAY_MS = 86_400_000;
/** Longest window, block or memory. */
export const MAX_DURATION_MS = 400 * DAY_MS;
/** Highest limit, burst or cost. */
export const MAX_HITS = 1_000_000_000;
/** A sliding log keeps every hit, so its limit is its memory. */
const MAX_LOGGED_HITS = 10_000;

const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'];
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const KNOWN: KnownOptions<RateLimitRule> = {
  name: true,
  limit: true,
  windowMs: true,
  algorithm: true,
  burst: true,
  subject: true,
  cost: true,
  skip: true,
  count: true,
  blockMs: true,
  blockEscalation: true,
  shadow: true,
  onRedisError: true,
  deadlineMs: true,
};
const KNOWN_OF_ESCALATION: KnownOptions<BlockEscalation> = { factor: true, maxMs: true, memoryMs: true };

/** @throws InvalidOptionError unless the value is an integer between the two */
export function checkInteger(what: string, value: unknown, least: number, most: number): number {
  if (isIntegerOf(value, least, most)) return value;
  const hint = typeof value === 'number' && value > 0 && value < 1 ? ' Durations are in ms, not seconds.' : '';
  throw new InvalidOptionError(`${what} is ${shown(value)}. Give an integer of ${least} to ${most}.${hint}`);
}

/** @throws InvalidOptionError unless the value is one of the choices */
export function checkChoice<T extends string>(what: string, value: T, choices: readonly string[]): T {
  if (choices.includes(value)) return value;
  throw new InvalidOptionError(`${what} is ${shown(value)}. Give one of: ${choices.join(', ')}.`);
}

/** Highest limit of an algorithm, hits. */
export function mostHits(algorithm: string): number {
  return algorithm === 'sliding-log' ? MAX_LOGGED_HITS : MAX_HITS;
}

function checkFunction(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new InvalidOptionError(`${what} is ${shown(value)}. Give a function of the ExecutionContext, or leave it out.`);
}

function resolveEscalation(
  what: string,
  blockMs: number,
  escalation: BlockEscalation | undefined,
): Required<BlockEscalation> | undefined {
  if (escalation === undefined) return undefined;
  checkOptions(`${what}.blockEscalation`, escalation, KNOWN_OF_ESCALATION);
  if (blockMs === 0) {
    throw new InvalidOptionError(`${what}.blockEscalation needs a blockMs of at least 1 to start from, but it is 0.`);
  }
  const { factor = 2, maxMs, memoryMs = maxMs } = escalation;
  return Object.freeze({
    factor: checkInteger(`${what}.blockEscalation.factor`, factor, 2, 100),
    maxMs: checkInteger(`${what}.blockEscalation.maxMs`, maxMs, blockMs, MAX_DURATION_MS),
    memoryMs: checkInteger(`${what}.blockEscalation.memoryMs`, memoryMs, 1, MAX_DURATION_MS),
  });
}

/**
 * Checks a rule and fills in its defaults.
 *
 * @param what names the rule in messages, such as `@RateLimit() of CatsController.find`
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveRule(rule: RateLimitRule, what = 'The rate-limit rule'): ResolvedRule {
  checkOptions(what, rule, KNOWN);
  const { name, limit, windowMs, algorithm = 'fixed-window', burst, subject, cost = 1, skip } = rule;
  const { count = 'all', blockMs = 0, shadow = false, onRedisError, deadlineMs } = rule;
  if (name !== undefined && !(typeof name === 'string' && NAME.test(name))) {
    throw new InvalidOptionError(`${what}.name is ${shown(name)}. Use 1 to 64 letters, digits, dots, _ and -.`);
  }
  checkChoice(`${what}.algorithm`, algorithm, ALGORITHMS);
  if (typeof limit !== 'function') checkInteger(`${what}.limit`, limit, 0, mostHits(algorithm));
  if (typeof cost !== 'function') checkInteger(`${what}.cost`, cost, 0, MAX_HITS);
  checkInteger(`${what}.windowMs`, windowMs, 1, MAX_DURATION_MS);
  if (burst !== undefined && algorithm !== 'token-bucket') {
    throw new InvalidOptionError(`${what}.burst is for token-bucket only, but the algorithm is ${algorithm}.`);
  }
  if (burst !== undefined) checkInteger(`${what}.burst`, burst, 1, MAX_HITS);
  const most = burst ?? limit;
  // A limit of 0 is meant to let nothing pass.
  if (typeof most === 'number' && typeof cost === 'number' && limit !== 0 && cost > most) {
    throw new InvalidOptionError(
      `${what}.cost is ${cost}, but the rule lets at most ${most} pass at once, so no request could pass. Give an integer of ` +
        `0 to ${most}.`,
    );
  }
  checkFunction(`${what}.subject`, subject);
  checkFunction(`${what}.skip`, skip);
  checkChoice(`${what}.count`, count, ['all', 'failures', 'successes']);
  checkInteger(`${what}.blockMs`, blockMs, 0, MAX_DURATION_MS);
  if (typeof shadow !== 'boolean')
    throw new InvalidOptionError(`${what}.shadow is ${shown(shadow)}. Give true or false.`);
  if (onRedisError !== undefined) checkChoice(`${what}.onRedisError`, onRedisError, ['allow', 'deny', 'local']);
  if (deadlineMs !== undefined) checkInteger(`${what}.deadlineMs`, deadlineMs, 1, 60_000);
  const blockEscalation = resolveEscalation(what, blockMs, rule.blockEscalation);
  return Object.freeze({
    ...{ name, limit, windowMs, algorithm, burst, subject, cost, skip, count },
    ...{ blockMs, blockEscalation, shadow, onRedisError, deadlineMs },
  });
}

/** Returns the rule with a name. */
export function named(rule: ResolvedRule, name: string): NamedRule {
  return Object.freeze({ ...rule, name });
}
