import type { ExecutionContext } from '@nestjs/common';
import { isIntegerOf, shown, InvalidInputError } from '../../../internal/src';
import { Check } from '../limiter/decision';
import { MAX_HITS, mostHits } from './resolve-rule';
import type { NamedRule, PerRequest } from './rule';

/**
 * Subject under which all requests without a client or user are counted. No real subject can be this text, because RateLimitService refuses
 * an empty one.
 */
export const UNKNOWN_SUBJECT = '';

async function valueOf(
  rule: NamedRule,
  option: 'limit' | 'cost',
  value: PerRequest<number>,
  max: number,
  context: ExecutionContext,
): Promise<number> {
  const result = typeof value === 'function' ? await value(context) : value;
  if (option === 'limit' && result === Infinity) return result;
  if (isIntegerOf(result, 0, max)) return result;
  throw new InvalidInputError(
    `The ${option} function of rate limit rule ${shown(rule.name)} returned ${shown(result)} for this request. Expected an integer ` +
      `from 0 to ${max}${option === 'limit' ? ', or Infinity for no limit' : ''}.`,
  );
}

/**
 * Calls the functions of a rule (`skip`, `subject`, `limit`, `cost`) for a request.
 *
 * @param client address of the client, which is the subject if the rule has no `subject` function
 * @returns the rule with the results, and UNKNOWN_SUBJECT if there is no subject; undefined if the rule does not apply, or its limit is
 *   Infinity
 * @throws InvalidInputError if a function returns an invalid value; the error that a function throws
 */
export async function evaluateRule(
  rule: NamedRule,
  context: ExecutionContext,
  client: string | undefined,
): Promise<Check | undefined> {
  if (rule.skip !== undefined && (await rule.skip(context))) return undefined;
  const [subject, limit, cost] = await Promise.all([
    rule.subject === undefined ? client : rule.subject(context),
    valueOf(rule, 'limit', rule.limit, mostHits(rule.algorithm), context),
    valueOf(rule, 'cost', rule.cost, MAX_HITS, context),
  ]);
  if (limit === Infinity) return undefined;
  if (subject === undefined) return new Check(rule, UNKNOWN_SUBJECT, limit, cost);
  if (typeof subject !== 'string') {
    throw new InvalidInputError(
      `The subject function of rate limit rule ${shown(rule.name)} returned ${shown(subject)}. Expected text, or undefined if the ` +
        'request has no subject.',
    );
  }
  return new Check(rule, subject, limit, cost);
}
