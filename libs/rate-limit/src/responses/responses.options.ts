import { Checks, type KnownOptions } from '../../../internal/src';
import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';

/** What answers say of the limits. */
export interface RateLimitResponseOptions {
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` (s) of the rule nearest to a refusal. Default true. */
  readonly legacy?: boolean;
  /** `RateLimit-Policy` and `RateLimit` of all rules, by the IETF draft. Default true. */
  readonly draft?: boolean;
  /** `Retry-After` (s) on refusals. Default true. */
  readonly retryAfter?: boolean;
  /** RFC 9457 problem details as the body of a refusal; false for Nest's usual body; or a function that makes another. Default true. */
  readonly problem?: boolean | ((decision: RateLimitDecision, context: ExecutionContext) => object);
  /** Makes all headers, in place of those above. Default none. */
  readonly headers?: (decision: RateLimitDecision) => Readonly<Record<string, string>>;
}

/** Answers with every default filled in. */
export interface ResolvedResponseOptions {
  readonly legacy: boolean;
  readonly draft: boolean;
  readonly retryAfter: boolean;
  readonly problem: NonNullable<RateLimitResponseOptions['problem']>;
  readonly headers: RateLimitResponseOptions['headers'];
}

const KNOWN: KnownOptions<RateLimitResponseOptions> = {
  legacy: true,
  draft: true,
  retryAfter: true,
  problem: true,
  headers: true,
};

/** @throws InvalidOptionError naming the option and the value seen */
export function resolveResponses(answers: RateLimitResponseOptions, module = new Checks('RateLimitModule')): ResolvedResponseOptions {
  module.options('answers', answers, KNOWN);
  const checks = module.in('answers');
  const { legacy = true, draft = true, retryAfter = true, problem = true, headers } = answers;
  if (typeof problem !== 'boolean' && typeof problem !== 'function') {
    checks.refuse('problem', problem, 'true, false or a function');
  }
  return Object.freeze({
    legacy: checks.flag('legacy', legacy),
    draft: checks.flag('draft', draft),
    retryAfter: checks.flag('retryAfter', retryAfter),
    problem,
    headers: checks.optionalFn('headers', headers, 'from a decision to headers'),
  });
}
