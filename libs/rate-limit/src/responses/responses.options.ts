import { Checks, type KnownOptions } from '../../../internal/src';
import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';

type Headers = Readonly<Record<string, string>>;

/** Headers and bodies of HTTP responses. */
export interface RateLimitResponseOptions {
  /**
   * Headers of all responses. True: the headers below. False: no headers. A function gets the decision and the headers below, and returns
   * the headers to send. `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (s) describe the rule that is closest to a
   * refusal. `RateLimit-Policy` (IETF draft) describes all rules, and `RateLimit` describes the evaluated rules. A refusal also has
   * `Retry-After` (s), if waiting helps. The headers do not describe shadow rules (rules that only count). Default true.
   */
  readonly headers?: boolean | ((decision: RateLimitDecision, headers: Headers) => Headers);
  /**
   * Body of a refusal. True: RFC 9457 problem details. False: Nest's usual `{ statusCode, message }`. A function returns the
   * body. Default true.
   */
  readonly problem?: boolean | ((decision: RateLimitDecision, context: ExecutionContext) => object);
}

export type ResolvedResponseOptions = Readonly<Required<RateLimitResponseOptions>>;

const KNOWN: KnownOptions<RateLimitResponseOptions> = { headers: true, problem: true };

/** Checks the options and fills in the defaults. @throws InvalidOptionError that names the option and its value */
export function resolveResponses(
  responses: RateLimitResponseOptions,
  module = new Checks('RateLimitModule'),
): ResolvedResponseOptions {
  module.options('responses', responses, KNOWN);
  const checks = module.in('responses');
  const { headers = true, problem = true } = responses;
  for (const [name, value] of Object.entries({ headers, problem })) {
    if (typeof value !== 'boolean' && typeof value !== 'function') {
      checks.refuse(name, value, 'true, false or a function');
    }
  }
  return Object.freeze({ headers, problem });
}
