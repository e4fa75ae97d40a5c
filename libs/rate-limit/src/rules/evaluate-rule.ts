import { isIntegerOf, shown } from '../../../internal/src';
import type { ExecutionContext } from '@nestjs/common';
import type { Check } from '../limiter/limiter.port';
import { InvalidRateLimitInputError } from '../rate-limit.errors';
import { MAX_HITS, mostHits } from './resolve-rule';
import type { NamedRule, PerRequest } from './rule';

/**
 * Subject of all requests that have none. No other subject is empty, so no client can name it, nor be counted as it.
 */
export const UNKNOWN_SUBJECT = '';

async function figure(
  rule: NamedRule,
  what: 'limit' | 'cost',
  value: PerRequest<number>,
  most: number,
  context: ExecutionContext,
): Promise<number> {
  const answer = typeof value === 'function' ? await value(context) : value;
  if (what === 'limit' && answer === Infinity) return answer;
  if (isIntegerOf(answer, 0, most)) return answer;
  throw new InvalidRateLimitInputError(
    `The ${what} of rule ${shown(rule.name)} is ${shown(answer)} for this request. Answer an integer of 0 to ${most}` +
      `${what === 'limit' ? ', or Infinity for no limit' : ''}.`,
  );
}

/**
 * Asks a rule's functions about a request.
 *
 * @param client who is counted where the rule does not say
 * @returns undefined where the rule leaves the request out; a check of UNKNOWN_SUBJECT where the request has no subject
 * @throws InvalidRateLimitInputError for an answer that is no figure or no text
 */
export async function checkOf(
  rule: NamedRule,
  context: ExecutionContext,
  client: string | undefined,
): Promise<Check | undefined> {
  if (rule.skip !== undefined && (await rule.skip(context))) return undefined;
  const [subject, limit, cost] = await Promise.all([
    rule.subject === undefined ? client : rule.subject(context),
    figure(rule, 'limit', rule.limit, mostHits(rule.algorithm), context),
    figure(rule, 'cost', rule.cost, MAX_HITS, context),
  ]);
  if (limit === Infinity) return undefined;
  if (subject === undefined) return { rule, subject: UNKNOWN_SUBJECT, limit, cost };
  if (typeof subject !== 'string') {
    throw new InvalidRateLimitInputError(
      `The subject of rule ${shown(rule.name)} is ${shown(subject)}. Return text, or undefined if there is none.`,
    );
  }
  return { rule, subject, limit, cost };
}
