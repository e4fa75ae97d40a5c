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
 * Limits routes that RateLimitGuard is on: on a method that route, on a class all of its routes together.
 *
 * Rules of one name, here and in the module, are one rule, and the nearest to the method applies.
 *
 * @throws InvalidOptionError when the class is loaded, for a rule that cannot work; at boot, for one that no guard enforces
 */
export function RateLimit(...rules: readonly [RateLimitRule, ...RateLimitRule[]]): AnyDecorator {
  return classOrMethodDecorator('@RateLimit', ({ on, checks, apply }) => {
    if (rules.length === 0) throw checks.error('It has no rule. Expected at least one.');
    const resolved = rules.map((rule, i) => resolveRule(rule, rules.length === 1 ? checks : checks.in(`rules[${i}]`)));
    const below = (Reflect.getOwnMetadata(RULES_METADATA, on) as ResolvedRule[] | undefined) ?? [];
    Reflect.defineMetadata(RULES_METADATA, [...resolved, ...below], on);
    const refunds = (list: readonly ResolvedRule[]): boolean => list.some(({ count }) => count !== 'all');
    if (refunds(resolved) && !refunds(below)) apply(UseInterceptors(RateLimitInterceptor));
  });
}

/**
 * Leaves a route, or all routes of a class, out of all rules, or of the named rules. Several on one method add up.
 *
 * @throws InvalidOptionError when the class is loaded, for a name that is not text; at boot, for a name that no rule there has
 */
export function SkipRateLimit(...names: readonly string[]): AnyDecorator {
  return classOrMethodDecorator('@SkipRateLimit', ({ on, checks }) => {
    const wrong = names.find((name) => typeof name !== 'string' || name === '');
    if (wrong !== undefined) throw checks.error(`It has ${shown(wrong)}. Expected names of rules, or nothing.`);
    const below = Reflect.getOwnMetadata(SKIP_METADATA, on) as string[] | undefined;
    const all = names.length === 0 || below?.length === 0;
    Reflect.defineMetadata(SKIP_METADATA, all ? [] : [...new Set([...names, ...(below ?? [])])], on);
  });
}

/**
 * Injects what RateLimitGuard decided into a parameter of a handler: `@RateLimitResult() limits: RateLimitDecision | undefined`.
 *
 * Undefined where no rule applied. Of WebSocket messages whose payload is no object, it is the client's last decision there.
 */
export const RateLimitResult: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RateLimitDecision | undefined => getRateLimitResult(context),
);
