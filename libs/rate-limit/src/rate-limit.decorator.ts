import { createParamDecorator, UseInterceptors, type ExecutionContext } from '@nestjs/common';
import { classOrMethodDecorator, shown } from '../../internal/src';
import { RateLimitInterceptor } from './rate-limit.interceptor';
import type { RateLimitDecision } from './rate-limit.types';
import { resolveRule } from './rules/resolve-rule';
import { getRateLimitResult } from './rules/results';
import { RULES_METADATA, SKIP_METADATA } from './rules/route-rules';
import type { RateLimitRule, ResolvedRule } from './rules/rule';

type AnyDecorator = ClassDecorator & MethodDecorator;

/**
 * Limits a route (on a method) or all routes of a class together (on the class). RateLimitGuard enforces the rules.
 *
 * Of rules with one name, the method's rule replaces the class's, which replaces the module's.
 *
 * @throws InvalidOptionError when the class is loaded, for an invalid rule; at boot, for a rule that no guard enforces
 */
export function RateLimit(...rules: readonly [RateLimitRule, ...RateLimitRule[]]): AnyDecorator {
  return classOrMethodDecorator('@RateLimit', ({ on, checks, apply }) => {
    if (rules.length === 0) throw checks.error('There are no rules. Expected at least one.');
    const resolved = rules.map((rule, i) => resolveRule(rule, rules.length === 1 ? checks : checks.in(`rules[${i}]`)));
    const below = (Reflect.getOwnMetadata(RULES_METADATA, on) as ResolvedRule[] | undefined) ?? [];
    Reflect.defineMetadata(RULES_METADATA, [...resolved, ...below], on);
    const refunds = (list: readonly ResolvedRule[]): boolean => list.some(({ count }) => count !== 'all');
    if (refunds(resolved) && !refunds(below)) apply(UseInterceptors(RateLimitInterceptor));
  });
}

/**
 * Exempts a route, or all routes of a class, from the named rules, or from all rules if no name is given. Several decorators
 * on one method add up.
 *
 * @throws InvalidOptionError when the class is loaded, for a name that is not text; at boot, for the name of an unknown rule
 */
export function SkipRateLimit(...names: readonly string[]): AnyDecorator {
  return classOrMethodDecorator('@SkipRateLimit', ({ on, checks }) => {
    const wrong = names.find((name) => typeof name !== 'string' || name === '');
    if (wrong !== undefined) throw checks.error(`A name is ${shown(wrong)}. Expected names of rules, or nothing.`);
    const below = Reflect.getOwnMetadata(SKIP_METADATA, on) as string[] | undefined;
    const all = names.length === 0 || below?.length === 0;
    Reflect.defineMetadata(SKIP_METADATA, all ? [] : [...new Set([...names, ...(below ?? [])])], on);
  });
}

/**
 * Injects the decision of RateLimitGuard into a parameter of a handler:
 * `@RateLimitResult() limits: RateLimitDecision | undefined`.
 *
 * Undefined if no rule applied. For WebSocket messages whose payload is not an object, it is the client's last decision for
 * this handler.
 */
export const RateLimitResult: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RateLimitDecision | undefined => getRateLimitResult(context),
);
